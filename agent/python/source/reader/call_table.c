#include "call_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/details_json.h"
#include "words.h"

#define TEXT_MOST (1u << 28)  /* bytes of texts with which a table is full */
#define TEXT_LIMIT (1u << 30) /* bytes that a table never exceeds */

struct column {
	uint16_t id; /* enum hk_call_column */
	char type;
	bool words, nullable;
	struct hk_words dictionary;
	size_t text_used, text_capacity;
	int64_t set; /* rows that are not null */
};

/* Numbers of a site's texts in their dictionaries. */
struct site {
	int32_t domain, function, library;
	bool known;
};

/* Numbers of the texts that all calls of a thread have. */
struct thread {
	int32_t role, host, name;
};

/* Sites of one process, by index. */
struct sites {
	struct site *list;
	uint32_t capacity;
};

struct hk_call_table {
	struct hk_schema *schema;
	struct hk_table *table; /* NULL: no row yet */
	struct sites *sites;
	size_t processes, rows, room, capacity;
	uint64_t origin_ns;
	int16_t of_id[HK_CALL_COLUMNS]; /* place of each column, -1: not wanted */
	/* Arguments and results are collected as JSON text. */
	FILE *json;
	char *json_text;
	size_t json_bytes;
	size_t count;
	struct column columns[];
};

/* ---- making one ---- */

static int make_schema(struct hk_call_table *table)
{
	char name[HK_CALL_COLUMN_BYTES];

	table->schema = hk_schema_new(table->count);
	for (size_t i = 0; table->schema && i < table->count; i++) {
		struct hk_field *field = &table->schema->fields[i];
		hk_call_column_name(table->columns[i].id, name);
		field->name = strdup(name);
		field->type = table->columns[i].type;
		field->words = table->columns[i].words;
		if (!field->name) {
			return -ENOMEM;
		}
	}
	return table->schema ? 0 : -ENOMEM;
}

struct hk_call_table *hk_call_table_new(const uint16_t *columns, size_t count, size_t rows,
					size_t processes, uint64_t origin_ns)
{
	struct hk_call_table *table = calloc(1, sizeof(*table) + count * sizeof(struct column));

	if (!table) {
		return NULL;
	}
	memset(table->of_id, -1, sizeof(table->of_id));
	table->count = count;
	table->room = rows;
	table->processes = processes;
	table->origin_ns = origin_ns;
	for (size_t i = 0; i < count; i++) {
		struct column *column = &table->columns[i];
		column->id = columns[i];
		column->type = hk_call_column_type(columns[i], &column->words);
		column->nullable = columns[i] >= HK_CALL_ARGUMENTS;
		table->of_id[columns[i]] = (int16_t)i;
	}
	table->sites = calloc(processes + 1, sizeof(*table->sites));
	table->json = open_memstream(&table->json_text, &table->json_bytes);
	if (!table->sites || !table->json || make_schema(table) < 0) {
		hk_call_table_free(table);
		return NULL;
	}
	return table;
}

void hk_call_table_free(struct hk_call_table *table)
{
	if (!table) {
		return;
	}
	for (size_t i = 0; i < table->count; i++) {
		hk_words_fini(&table->columns[i].dictionary);
	}
	for (size_t i = 0; table->sites && i < table->processes; i++) {
		free(table->sites[i].list);
	}
	free(table->sites);
	if (table->json) {
		fclose(table->json);
	}
	free(table->json_text);
	hk_table_unref(table->table);
	hk_schema_unref(table->schema);
	free(table);
}

struct hk_schema *hk_call_table_schema(const struct hk_call_table *table)
{
	return table->schema;
}

/* ---- room ---- */

static size_t bits(size_t rows)
{
	return rows / 8 + 8;
}

/* Changes *MEMORY from OLD to SIZE bytes; new ones are 0. Returns 0 or -ENOMEM. */
static int grow(void *memory, size_t old, size_t size)
{
	void **at = memory;
	char *grown = *at ? realloc(*at, size) : calloc(1, size);

	if (!grown) {
		return -ENOMEM;
	}
	if (*at) {
		memset(grown + old, 0, size - old);
	}
	*at = grown;
	return 0;
}

static int grow_column(const struct column *column, struct hk_column *to, size_t old, size_t rows)
{
	size_t width = column->words ? sizeof(int32_t) : hk_type_bytes(column->type);
	int rc = 0;

	if (column->nullable) {
		rc = grow(&to->valid, bits(old), bits(rows));
	}
	if (rc == 0 && width) {
		rc = grow(&to->data, old * width, rows * width);
	} else if (rc == 0 && column->type == 'b') {
		rc = grow(&to->data, bits(old), bits(rows));
	} else if (rc == 0) {
		rc = grow(&to->offsets, (old + 1) * sizeof(int32_t), (rows + 1) * sizeof(int32_t));
	}
	return rc;
}

/* Makes room for one more row. */
static int reserve(struct hk_call_table *table)
{
	size_t rows = table->capacity ? table->capacity * 2 : table->room + 1;

	if (table->table && table->rows < table->capacity) {
		return 0;
	}
	if (!table->table) {
		table->table = hk_table_new(table->schema);
	}
	for (size_t i = 0; i < table->count; i++) {
		if (!table->table || grow_column(&table->columns[i], &table->table->columns[i],
						 table->capacity, rows) < 0) {
			return -ENOMEM;
		}
	}
	table->capacity = rows;
	return 0;
}

/* ---- texts ---- */

/* Returns the number of TEXT in the dictionary of column ID, 0 if there is no such column. */
static int32_t number(struct hk_call_table *table, unsigned id, const char *text)
{
	int at = table->of_id[id];

	return at < 0 ? 0 : hk_words_number(&table->columns[at].dictionary, text);
}

/* Returns NUMBER, the worst of several. */
static int worst(int32_t a, int32_t b, int32_t c)
{
	int32_t less = a < b ? a : b;

	less = less < c ? less : c;
	return less < 0 ? less : 0;
}

static int describe_site(struct hk_call_table *table, size_t process,
			 const struct hk_export_site *site, struct site **ret_site)
{
	struct sites *sites = &table->sites[process];

	if (site->index >= sites->capacity) {
		uint32_t capacity = site->index + site->index / 2 + 64;
		if (grow(&sites->list, sites->capacity * sizeof(struct site),
			 capacity * sizeof(struct site)) < 0) {
			return -ENOMEM;
		}
		sites->capacity = capacity;
	}
	struct site *known = &sites->list[site->index];
	*ret_site = known;
	if (known->known) {
		return 0;
	}
	known->domain = number(table, HK_CALL_DOMAIN, site->domain);
	known->function = number(table, HK_CALL_FUNCTION, site->function);
	known->library = number(table, HK_CALL_LIBRARY, site->library);
	int rc = worst(known->domain, known->function, known->library);
	known->known = rc == 0;
	return rc;
}

static int describe_thread(struct hk_call_table *table, struct hk_export_thread *thread)
{
	struct thread *known = thread->private;

	if (known) {
		return 0;
	}
	known = calloc(1, sizeof(*known));
	if (!known) {
		return -ENOMEM;
	}
	known->role = number(table, HK_CALL_ROLE, thread->process->role);
	known->host = number(table, HK_CALL_HOST, thread->process->host);
	known->name = number(table, HK_CALL_THREAD, thread->name);
	int rc = worst(known->role, known->host, known->name);
	if (rc < 0) {
		free(known);
		return rc;
	}
	thread->private = known;
	return 0;
}

void hk_call_table_forget(struct hk_export_thread *thread)
{
	free(thread->private);
	thread->private = NULL;
}

static void set_bit(uint8_t *bitmap, size_t row)
{
	bitmap[row / 8] |= (uint8_t)(1u << (row % 8));
}

/* Appends TEXT to the current row's. */
static int put_text(struct hk_call_table *table, size_t at, const char *text, size_t size)
{
	struct column *column = &table->columns[at];
	struct hk_column *to = &table->table->columns[at];

	if (size > TEXT_LIMIT - column->text_used) {
		return -EFBIG;
	}
	if (!to->data || column->text_used + size > column->text_capacity) {
		size_t capacity = (column->text_used + size) * 2 + 4096;
		char *grown = realloc(to->data, capacity);
		if (!grown) {
			return -ENOMEM;
		}
		to->data = grown;
		column->text_capacity = capacity;
	}
	memcpy((char *)to->data + column->text_used, text, size);
	column->text_used += size;
	set_bit(to->valid, table->rows);
	column->set++;
	return 0;
}

/* ---- arguments ---- */

static int put_arguments(struct hk_call_table *table, const struct hk_arguments *arguments)
{
	struct hk_json json = {.output = table->json};
	int at = table->of_id[HK_CALL_ARGUMENTS];

	if (at < 0) {
		return 0;
	}
	rewind(table->json);
	hk_details_json_arguments(&json, NULL, arguments);
	long size = ftell(table->json);
	if (fflush(table->json) || ferror(table->json) || size < 0) {
		return -ENOMEM;
	}
	return put_text(table, (size_t)at, table->json_text, (size_t)size);
}

/* Adds RESULT, if the call has one: a text as it is, anything else in JSON's form without the
 * quotation marks around it. */
static int put_result(struct hk_call_table *table, const struct hk_argument *result)
{
	struct hk_json json = {.output = table->json};
	char text[HK_ARGUMENT_VALUE_BYTES];
	int at = table->of_id[HK_CALL_RETURNED];

	if (at < 0) {
		return 0;
	}
	if (result->form == HK_ARGUMENT_TEXT) {
		hk_argument_text(result, text);
		return put_text(table, (size_t)at, text, strlen(text));
	}
	rewind(table->json);
	hk_details_json_argument(&json, NULL, result);
	long size = ftell(table->json);
	if (fflush(table->json) || ferror(table->json) || size < 0) {
		return -ENOMEM;
	}
	size_t quoted = size >= 2 && table->json_text[0] == '"';
	return size ? put_text(table, (size_t)at, table->json_text + quoted,
			       (size_t)size - 2 * quoted)
		    : 0;
}

static int put_details(struct hk_call_table *table, const struct hk_slice *slice)
{
	struct hk_arguments arguments;

	if ((table->of_id[HK_CALL_ARGUMENTS] < 0 && table->of_id[HK_CALL_RETURNED] < 0) ||
	    !hk_slice_arguments(slice, &arguments)) {
		return 0;
	}
	int rc = put_arguments(table, &arguments);
	return rc < 0 ? rc : put_result(table, &arguments.result);
}

/* ---- rows ---- */

static int put_value(struct hk_call_table *table, size_t at, const struct hk_export_site *site,
		     uint8_t key, uint64_t word)
{
	struct column *column = &table->columns[at];
	struct hk_column *to = &table->table->columns[at];
	bool was = to->valid[table->rows / 8] & (1u << (table->rows % 8));
	char text[HK_VALUE_TEXT_BYTES];

	if (column->words) {
		int32_t value = hk_words_number(&column->dictionary,
						hk_exporter_value_text(site, key, word, text));
		if (value < 0) {
			return value;
		}
		((int32_t *)to->data)[table->rows] = value;
	} else if (column->type == 'i') {
		((int32_t *)to->data)[table->rows] = (int32_t)word;
	} else {
		((uint64_t *)to->data)[table->rows] = word;
	}
	set_bit(to->valid, table->rows);
	column->set += !was;
	return 0;
}

static int put_values(struct hk_call_table *table, const struct hk_slice *slice)
{
	int rc = 0;

	for (unsigned i = 0; rc == 0 && i < slice->word_count; i++) {
		uint8_t key = slice->site->keys[i];
		int at = table->of_id[HK_CALL_VALUE + key];

		if (at >= 0 && hk_exporter_has_value(key, slice->words[i])) {
			rc = put_value(table, (size_t)at, slice->site, key, slice->words[i]);
		}
	}
	return rc;
}

/* Everything of a row that every call has. */
struct row {
	const struct hk_export_thread *thread;
	const struct hk_slice *slice;
	const struct site *site;
	uint32_t depth;
	uint64_t origin_ns;
};

static int32_t narrow(const struct row *row, unsigned id)
{
	const struct thread *thread = row->thread->private;

	switch (id) {
	case HK_CALL_RANK:
		return row->thread->process->rank;
	case HK_CALL_ROLE:
		return thread->role;
	case HK_CALL_HOST:
		return thread->host;
	case HK_CALL_PID:
		return (int32_t)row->thread->process->pid;
	case HK_CALL_TID:
		return (int32_t)row->thread->tid;
	case HK_CALL_THREAD:
		return thread->name;
	case HK_CALL_DEPTH:
		return (int32_t)row->depth;
	case HK_CALL_DOMAIN:
		return row->site->domain;
	case HK_CALL_FUNCTION:
		return row->site->function;
	default:
		return row->site->library;
	}
}

static void put_row(struct hk_call_table *table, const struct row *row)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct column *column = &table->columns[i];
		struct hk_column *to = &table->table->columns[i];
		bool flag = column->id == HK_CALL_FAILED ? row->slice->failed : row->slice->unwound;

		if (column->nullable) {
			continue;
		}
		if (column->id == HK_CALL_START) {
			((int64_t *)to->data)[table->rows] =
			    (int64_t)(row->slice->start_ns - row->origin_ns);
		} else if (column->id == HK_CALL_DURATION) {
			((int64_t *)to->data)[table->rows] =
			    (int64_t)(row->slice->end_ns - row->slice->start_ns);
		} else if (column->type != 'b') {
			((int32_t *)to->data)[table->rows] = narrow(row, column->id);
		} else if (flag) {
			set_bit(to->data, table->rows);
		}
	}
}

/* Ends the row: a text column's next offset. */
static void end_row(struct hk_call_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		struct hk_column *to = &table->table->columns[i];
		if (to->offsets) {
			to->offsets[table->rows + 1] = (int32_t)table->columns[i].text_used;
		}
	}
	table->rows++;
}

int hk_call_table_add(struct hk_call_table *table, struct hk_export_thread *thread,
		      const struct hk_slice *slice, uint32_t depth)
{
	struct row row = {.thread = thread, .slice = slice, .depth = depth};
	struct site *site = NULL;
	int rc = reserve(table);

	rc = rc < 0 ? rc : describe_thread(table, thread);
	rc = rc < 0 ? rc : describe_site(table, thread->process->index, slice->site, &site);
	if (rc < 0) {
		return rc;
	}
	row.site = site;
	row.origin_ns = table->origin_ns;
	put_row(table, &row);
	rc = put_values(table, slice);
	rc = rc < 0 ? rc : put_details(table, slice);
	end_row(table);
	return rc;
}

size_t hk_call_table_rows(const struct hk_call_table *table)
{
	return table->rows;
}

bool hk_call_table_is_full(const struct hk_call_table *table)
{
	bool full = table->rows >= table->room;

	for (size_t i = 0; i < table->count; i++) {
		full |= table->columns[i].text_used >= TEXT_MOST;
	}
	return full;
}

/* Sets what only the whole column has. */
static int end_column(struct hk_call_table *table, size_t at)
{
	struct column *column = &table->columns[at];
	struct hk_column *to = &table->table->columns[at];

	to->length = (int64_t)table->rows;
	to->nulls = column->nullable ? to->length - column->set : 0;
	column->set = 0;
	column->text_used = column->text_capacity = 0;
	if (column->words) {
		to->words = hk_words_texts(&column->dictionary);
	}
	return column->words && !to->words ? -ENOMEM : 0;
}

int hk_call_table_take(struct hk_call_table *table, struct hk_table **ret_table)
{
	int rc = reserve(table);

	for (size_t i = 0; rc == 0 && i < table->count; i++) {
		rc = end_column(table, i);
	}
	if (rc < 0) {
		return rc;
	}
	table->table->length = (int64_t)table->rows;
	*ret_table = table->table;
	table->table = NULL;
	table->rows = table->capacity = 0;
	return 0;
}
