/* The calls that have not returned yet; many ranks in the same call are one row. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tui/view.h"
#include "text/name.h"

#define KEY_BYTES 2048u
#define STUCK_NS 5000000000u

enum { FUNCTION, LIBRARY, CALLS, RANKS, OLDEST, NEWEST, DEPTH, THREAD, COLUMNS };

static const struct hk_column columns[COLUMNS] = {
    [FUNCTION] = {"OPEN CALL", NULL, HK_CELL_NAME, 0, 14, 9, true},
    [LIBRARY] = {"CALLED FROM", NULL, HK_CELL_TEXT, 0, 16, 6, true},
    [CALLS] = {"THREADS", NULL, HK_CELL_INTEGER, 0, 7, 5, true},
    [RANKS] = {"RANKS", NULL, HK_CELL_INTEGER, 0, 5, 8, true},
    [OLDEST] = {"OLDEST", NULL, HK_CELL_NS, 0, 7, 9, true},
    [NEWEST] = {"NEWEST", NULL, HK_CELL_NS, 0, 7, 4, true},
    [DEPTH] = {"DEPTH", NULL, HK_CELL_INTEGER, 0, 5, 3, true},
    [THREAD] = {"WHERE", NULL, HK_CELL_TEXT, 0, 18, 7, true},
};

static int by_call(const void *a, const void *b)
{
	const struct hk_report_open_call *x = *(const struct hk_report_open_call *const *)a;
	const struct hk_report_open_call *y = *(const struct hk_report_open_call *const *)b;
	int order = strcmp(x->function, y->function);

	order = order ? order : strcmp(x->library, y->library);
	order = order ? order : (x->depth > y->depth) - (x->depth < y->depth);
	return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static bool is_same(const struct hk_report_open_call *a, const struct hk_report_open_call *b)
{
	return strcmp(a->function, b->function) == 0 && strcmp(a->library, b->library) == 0 &&
	       a->depth == b->depth;
}

static void key_set(char key[KEY_BYTES], const struct hk_report_open_call *open)
{
	snprintf(key, KEY_BYTES, "%s\n%" PRIu32 "\n%s", open->function, open->depth, open->library);
}

static const char *where(const struct hk_report_open_call *open, struct hk_rows *rows)
{
	return hk_rows_text(rows, "rank %" PRId32 " %s", open->rank,
			    *open->thread_name ? open->thread_name : open->role);
}

/* Adds one row for COUNT of the report's rows, sorted by rank. */
static void add(const struct hk_report_open_call *const *of, size_t count, struct hk_rows *rows)
{
	const struct hk_report_open_call *oldest = of[0], *newest = of[0];
	size_t ranks = 1;
	bool idle = of[0]->idle;
	char key[KEY_BYTES];

	for (size_t i = 1; i < count; i++) {
		oldest = of[i]->open_ns > oldest->open_ns ? of[i] : oldest;
		newest = of[i]->open_ns < newest->open_ns ? of[i] : newest;
		ranks += of[i]->rank != of[i - 1]->rank;
		idle &= of[i]->idle;
	}
	key_set(key, oldest);
	struct hk_row *row = hk_rows_add(rows, key);
	if (!row) {
		return;
	}
	row->expandable = count > 1;
	row->aside = idle;
	row->mark = oldest->open_ns >= STUCK_NS ? HK_ROW_ALERT : HK_ROW_PLAIN;
	row->pick = (struct hk_pick){.role = oldest->role, .function = oldest->function};
	row->cells[FUNCTION].text = oldest->function;
	row->cells[LIBRARY].text = hk_name_base(oldest->library);
	row->cells[CALLS].now = (double)count;
	row->cells[RANKS].now = (double)ranks;
	row->cells[OLDEST].now = (double)oldest->open_ns;
	row->cells[NEWEST].now = (double)newest->open_ns;
	row->cells[DEPTH].now = oldest->depth;
	row->cells[THREAD].text = where(oldest, rows);
}

static void fill(const struct hk_scene *scene, struct hk_rows *rows)
{
	const struct hk_report *report = scene->snapshot->report;
	const struct hk_report_open_call **sorted =
	    malloc((report->open_call_count + 1) * sizeof(*sorted));

	if (!sorted) {
		rows->failed = true;
		return;
	}
	for (size_t i = 0; i < report->open_call_count; i++) {
		sorted[i] = &report->open_calls[i];
	}
	qsort(sorted, report->open_call_count, sizeof(*sorted), by_call);
	for (size_t from = 0, to; from < report->open_call_count; from = to) {
		for (to = from + 1;
		     to < report->open_call_count && is_same(sorted[from], sorted[to]); to++) {
		}
		add(sorted + from, to - from, rows);
	}
	free(sorted);
}

static void expand(const struct hk_scene *scene, const struct hk_row *parent, struct hk_rows *rows)
{
	const struct hk_report *report = scene->snapshot->report;
	char key[KEY_BYTES];

	for (size_t i = 0; i < report->open_call_count; i++) {
		const struct hk_report_open_call *open = &report->open_calls[i];
		key_set(key, open);
		if (strcmp(key, parent->key) != 0) {
			continue;
		}
		snprintf(key, sizeof(key), "%s\n%" PRId32 "\n%" PRIu32 "\n%zu", parent->key,
			 open->rank, open->thread, i);
		struct hk_row *row = hk_rows_add(rows, key);
		if (!row) {
			return;
		}
		row->depth = 1;
		row->cells[FUNCTION].text = where(open, rows);
		row->cells[FUNCTION].now = open->rank;
		row->cells[OLDEST].now = row->cells[NEWEST].now = (double)open->open_ns;
	}
}

const struct hk_view hk_view_open = {
    .name = "Open calls",
    .word = "open",
    .empty = "no call is open",
    .keys = HK_GROUP_FUNCTION,
    .columns = columns,
    .column_count = COLUMNS,
    .sort = OLDEST,
    .fill = fill,
    .expand = expand,
    .rows_below = "calls",
};
