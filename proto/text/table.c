#include "text/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "text/name.h"

#define COLUMNS_MAX 24u
#define CELL_BYTES 1024u
#define CELL_COLUMNS ((CELL_BYTES - 1) / 4)

struct column {
	char head[32];
	bool right;
	size_t limit; /* most characters */
	size_t width; /* widest so far */
};

struct cell {
	char *text;
	size_t width; /* characters */
};

struct hk_table {
	struct column columns[COLUMNS_MAX];
	size_t column_count;
	struct cell *cells;
	size_t cell_count, cell_room;
	bool failed;
};

static void column_set(struct column *column, const char *head, size_t length)
{
	const char *colon = memchr(head, ':', length);
	size_t shown = colon ? (size_t)(colon - head) : length;

	column->limit = colon ? strtoul(colon + 1, NULL, 10) : CELL_COLUMNS;
	column->right = *head == '>';
	snprintf(column->head, sizeof(column->head), "%.*s", (int)shown - 1, head + 1);
	column->width = strlen(column->head);
}

struct hk_table *hk_table_new(const char *heads)
{
	struct hk_table *table = calloc(1, sizeof(*table));

	while (table && *heads && table->column_count < COLUMNS_MAX) {
		size_t length = strcspn(heads, "|");
		column_set(&table->columns[table->column_count++], heads, length);
		heads += length + (heads[length] == '|');
	}
	return table;
}

bool hk_table_is_empty(const struct hk_table *table)
{
	return !table || table->cell_count == 0;
}

struct hk_table *hk_table_free(struct hk_table *table)
{
	for (size_t i = 0; table && i < table->cell_count; i++) {
		free(table->cells[i].text);
	}
	if (table) {
		free(table->cells);
	}
	free(table);
	return NULL;
}

static struct cell *cell_new(struct hk_table *table)
{
	if (table->cell_count == table->cell_room) {
		size_t room = table->cell_room ? table->cell_room * 2 : 64;
		struct cell *cells = realloc(table->cells, room * sizeof(*cells));
		if (!cells) {
			return NULL;
		}
		table->cells = cells;
		table->cell_room = room;
	}
	return &table->cells[table->cell_count];
}

void hk_table_add(struct hk_table *table, const char *format, ...)
{
	char raw[CELL_BYTES], clean[CELL_BYTES];
	va_list list;

	if (!table || table->failed) {
		return;
	}
	va_start(list, format);
	vsnprintf(raw, sizeof(raw), format, list);
	va_end(list);
	struct column *column = &table->columns[table->cell_count % table->column_count];
	size_t limit = column->limit < CELL_COLUMNS ? column->limit : CELL_COLUMNS;
	size_t width = hk_name_print(clean, limit, raw);
	struct cell *cell = cell_new(table);
	char *text = strdup(clean);
	if (!cell || !text) {
		free(text);
		table->failed = true;
		return;
	}
	*cell = (struct cell){text, width};
	table->cell_count++;
	if (width > column->width) {
		column->width = width;
	}
}

static void pad(FILE *output, size_t count)
{
	while (count-- > 0) {
		fputc(' ', output);
	}
}

static void cell_write(const struct hk_table *table, size_t index, const char *text, size_t width,
		       FILE *output)
{
	const struct column *column = &table->columns[index];
	size_t space = column->width - width;

	if (width == 0 && index + 1 == table->column_count) {
		return; /* no blanks at the end of a line */
	}

	pad(output, (index > 0 ? 2 : 0) + (column->right ? space : 0));
	fputs(text, output);
	if (!column->right && index + 1 < table->column_count) {
		pad(output, space);
	}
}

int hk_table_write(const struct hk_table *table, FILE *output, bool colour)
{
	if (!table || table->failed) {
		return -ENOMEM;
	}
	fputs(colour ? "\033[1m" : "", output);
	for (size_t i = 0; i < table->column_count; i++) {
		const char *head = table->columns[i].head;
		cell_write(table, i, head, strlen(head), output);
	}
	fputs(colour ? "\033[0m\n" : "\n", output);
	for (size_t i = 0; i < table->cell_count; i++) {
		size_t index = i % table->column_count;
		cell_write(table, index, table->cells[i].text, table->cells[i].width, output);
		if (index + 1 == table->column_count) {
			fputc('\n', output);
		}
	}
	return 0;
}
