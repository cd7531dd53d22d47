#include "cli/tui/rows.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_FROM 17u /* fewer rows than this are all shown */
#define SHORT_FIRST 8u

void hk_rows_fini(struct hk_rows *rows)
{
	for (size_t i = 0; i < rows->text_count; i++) {
		free(rows->texts[i]);
	}
	free(rows->texts);
	free(rows->rows);
	*rows = (struct hk_rows){.failed = rows->failed};
}

/* Takes ownership of TEXT, which is malloc'ed. */
static const char *keep(struct hk_rows *rows, char *text)
{
	if (rows->text_count == rows->text_room) {
		size_t room = rows->text_room ? 2 * rows->text_room : 256;
		char **texts = realloc(rows->texts, room * sizeof(*texts));
		if (!texts) {
			rows->failed = true;
			free(text);
			return "";
		}
		rows->texts = texts;
		rows->text_room = room;
	}
	rows->texts[rows->text_count++] = text;
	return text;
}

const char *hk_rows_text(struct hk_rows *rows, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0) {
		rows->failed = true;
		return "";
	}
	return keep(rows, text);
}

struct hk_row *hk_rows_add(struct hk_rows *rows, const char *key)
{
	char *copy = strdup(key);

	if (!copy) {
		rows->failed = true;
		return NULL;
	}
	if (rows->count == rows->room) {
		size_t room = rows->room ? 2 * rows->room : 64;
		struct hk_row *more = realloc(rows->rows, room * sizeof(*more));
		if (!more) {
			rows->failed = true;
			free(copy);
			return NULL;
		}
		rows->rows = more;
		rows->room = room;
	}
	struct hk_row *row = &rows->rows[rows->count++];
	*row = (struct hk_row){.key = keep(rows, copy)};
	for (size_t i = 0; i < HK_ROW_CELLS; i++) {
		row->cells[i].now = row->cells[i].total = NAN;
	}
	return row;
}

/* ---- order ---- */

static int by_text(const char *a, const char *b)
{
	int order = strcasecmp(a ? a : "", b ? b : "");

	return order ? order : strcmp(a ? a : "", b ? b : "");
}

/* Compares numbers. Unmeasured ones come last in both orders. */
static int by_number(double a, double b, bool reverse)
{
	if (isnan(a) || isnan(b)) {
		return isnan(a) - isnan(b);
	}
	int order = (a < b) - (a > b);
	return reverse ? -order : order;
}

static double number_of(const struct hk_row *row, const struct hk_order *order)
{
	const struct hk_column *column = &order->columns[order->column];
	const struct hk_table_cell *cell = &row->cells[order->column];

	if (column->kind == HK_CELL_SPARK) {
		return row->track ? row->track->per_s[0] : NAN;
	}
	return order->totals && column->total_title ? cell->total : cell->now;
}

static int compare(const void *a, const void *b, void *context)
{
	const struct hk_row *x = a, *y = b;
	const struct hk_order *order = context;
	const struct hk_table_cell *cx = &x->cells[order->column], *cy = &y->cells[order->column];
	int result;

	/* Names that are numbers, those of ranks, are sorted as numbers. */
	if (hk_cell_is_text(order->columns[order->column].kind) &&
	    (isnan(cx->now) || isnan(cy->now))) {
		result = by_text(cx->text, cy->text);
		result = order->reverse ? -result : result;
	} else if (hk_cell_is_text(order->columns[order->column].kind)) {
		result = by_number(cx->now, cy->now, !order->reverse);
	} else {
		result = by_number(number_of(x, order), number_of(y, order), order->reverse);
	}
	return result ? result : strcmp(x->key, y->key);
}

void hk_rows_sort(struct hk_rows *rows, const struct hk_order *order)
{
	if (rows->count > 1) {
		qsort_r(rows->rows, rows->count, sizeof(*rows->rows), compare,
			(void *)(uintptr_t)order);
	}
}

bool hk_row_has(const struct hk_row *row, const struct hk_order *order, const char *text)
{
	for (size_t i = 0; i < order->column_count; i++) {
		if (row->cells[i].text && strcasestr(row->cells[i].text, text)) {
			return true;
		}
	}
	return false;
}

bool hk_rows_are_empty(const struct hk_rows *rows, size_t cell)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct hk_table_cell *at = &rows->rows[i].cells[cell];
		if (!isnan(at->now) || !isnan(at->total)) {
			return false;
		}
	}
	return true;
}

size_t hk_rows_hide(struct hk_rows *rows)
{
	size_t kept = 0, count = rows->count;

	for (size_t i = 0; i < count; i++) {
		kept += !rows->rows[i].aside;
	}
	if (kept == 0) {
		return 0;
	}
	rows->count = 0;
	for (size_t i = 0; i < count; i++) {
		if (!rows->rows[i].aside) {
			rows->rows[rows->count++] = rows->rows[i];
		}
	}
	return count - kept;
}

void hk_rows_filter(struct hk_rows *rows, const struct hk_order *order, const char *text)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++) {
		if (!*text || hk_row_has(&rows->rows[i], order, text)) {
			rows->rows[kept++] = rows->rows[i];
		}
	}
	rows->count = kept;
}

/* ---- shortening ---- */

static int rising(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const struct hk_rows *rows, size_t cell, bool total, double *room)
{
	size_t count = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct hk_table_cell *from = &rows->rows[i].cells[cell];
		double value = total ? from->total : from->now;
		if (!isnan(value)) {
			room[count++] = value;
		}
	}
	qsort(room, count, sizeof(*room), rising);
	return count > 0 ? room[(count - 1) / 2] : NAN;
}

void hk_rows_shorten(struct hk_rows *rows, const struct hk_order *order, const char *what)
{
	size_t all = rows->count;

	if (all < SHORT_FROM) {
		return;
	}
	double *room = malloc(all * sizeof(*room));
	struct hk_row medians = {.key = "median", .mark = HK_ROW_SUM};
	struct hk_row rest = {.key = "rest", .mark = HK_ROW_SUM};
	if (!room) {
		rows->failed = true;
		return;
	}
	for (size_t i = 0; i < HK_ROW_CELLS; i++) {
		bool is_text = i >= order->column_count || hk_cell_is_text(order->columns[i].kind);
		medians.cells[i].now = is_text ? NAN : median(rows, i, false, room);
		medians.cells[i].total = is_text ? NAN : median(rows, i, true, room);
		rest.cells[i].now = rest.cells[i].total = NAN;
	}
	free(room);
	medians.cells[0].text = hk_rows_text(rows, "median of %zu %s", all, what);
	rest.cells[0].text = hk_rows_text(rows, "(%zu more)", all - SHORT_FIRST - 1);
	rows->rows[SHORT_FIRST + 2] = rows->rows[all - 1];
	rows->rows[SHORT_FIRST] = medians;
	rows->rows[SHORT_FIRST + 1] = rest;
	rows->count = SHORT_FIRST + 3;
}

size_t hk_rows_find(const struct hk_rows *rows, const char *key)
{
	size_t i = 0;

	while (i < rows->count && strcmp(rows->rows[i].key, key) != 0) {
		i++;
	}
	return i;
}
