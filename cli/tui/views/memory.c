/* Allocated memory by calling library, kind and role, each over all ranks and devices. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tui/view.h"
#include "text/name.h"

#define KEY_BYTES 2048u

enum { LIBRARY, KIND, LIVE, MOST, RANK, PEAK, IMBALANCE, ALLOCS, FREES, SPARK, ROLE, COLUMNS };

static const struct hk_column columns[COLUMNS] = {
    [LIBRARY] = {"CALLING LIBRARY", NULL, HK_CELL_NAME, 0, 14, 9, true},
    [KIND] = {"KIND", NULL, HK_CELL_TEXT, 0, 7, 8, true},
    [LIVE] = {"LIVE ALL", NULL, HK_CELL_BYTES, 0, 8, 7, true},
    [MOST] = {"LIVE MAX", NULL, HK_CELL_BYTES, 0, 8, 6, true},
    [RANK] = {"@RANK", NULL, HK_CELL_INTEGER, 0, 5, 6, true},
    [PEAK] = {"PEAK MAX", NULL, HK_CELL_BYTES, 0, 8, 8, true},
    [IMBALANCE] = {"IMB", NULL, HK_CELL_RATIO, 0, 5, 5, true},
    [ALLOCS] = {"ALLOC/s", "ALLOCS", HK_CELL_COUNT, HK_CELL_INTEGER, 7, 4, true},
    [FREES] = {"FREE/s", "FREES", HK_CELL_COUNT, HK_CELL_INTEGER, 7, 3, true},
    [SPARK] = {"60s", NULL, HK_CELL_SPARK, 0, 10, 2, false},
    [ROLE] = {"ROLE", NULL, HK_CELL_TEXT, 0, 8, 1, true},
};

static int by_kind(const void *a, const void *b)
{
	const struct hk_report_memory *x = *(const struct hk_report_memory *const *)a;
	const struct hk_report_memory *y = *(const struct hk_report_memory *const *)b;
	int order = strcmp(x->kind, y->kind);

	order = order ? order : strcmp(x->library, y->library);
	order = order ? order : strcmp(x->role, y->role);
	order = order ? order : (x->rank > y->rank) - (x->rank < y->rank);
	return order ? order : (x->device > y->device) - (x->device < y->device);
}

static bool is_same(const struct hk_report_memory *a, const struct hk_report_memory *b)
{
	return strcmp(a->kind, b->kind) == 0 && strcmp(a->library, b->library) == 0 &&
	       strcmp(a->role, b->role) == 0;
}

static void set_counts(struct hk_history *history, struct hk_row *row, uint64_t allocs,
		       uint64_t frees)
{
	const uint64_t counts[HK_TRACK_COUNTS] = {allocs, frees};

	row->track = hk_history_count(history, row->key, counts);
	row->cells[ALLOCS].total = (double)allocs;
	row->cells[FREES].total = (double)frees;
	if (row->track) {
		row->cells[ALLOCS].now = row->track->per_s[0];
		row->cells[FREES].now = row->track->per_s[1];
	}
}

/* Adds one row for COUNT of the report's rows, all of one library, kind and role. */
static void add(const struct hk_scene *scene, const struct hk_report_memory *const *of,
		size_t count, struct hk_rows *rows)
{
	uint64_t live = 0, peak = 0, allocs = 0, frees = 0, rank_live = 0;
	const struct hk_report_memory *most = of[0];
	uint64_t most_live = 0;
	char key[KEY_BYTES];

	for (size_t i = 0; i < count; i++) {
		/* Devices of one rank are summed. */
		rank_live = i > 0 && of[i]->rank == of[i - 1]->rank ? rank_live : 0;
		rank_live += of[i]->live_bytes;
		live += of[i]->live_bytes;
		peak = of[i]->peak_bytes > peak ? of[i]->peak_bytes : peak;
		allocs += of[i]->allocs;
		frees += of[i]->frees;
		if (rank_live > most_live) {
			most = of[i];
			most_live = rank_live;
		}
	}
	snprintf(key, sizeof(key), "%s\n%s\n%s", most->kind, most->role, most->library);
	struct hk_row *row = hk_rows_add(rows, key);
	if (!row) {
		return;
	}
	bool all = strcmp(most->library, "*") == 0;
	row->expandable = true;
	row->aside = strcmp(most->role, "main") != 0;
	row->cells[LIBRARY].text = all ? "all libraries" : hk_name_base(most->library);
	row->cells[KIND].text = most->kind;
	row->cells[LIVE].now = (double)live;
	row->cells[MOST].now = (double)most_live;
	row->cells[RANK].now = most->rank;
	row->cells[PEAK].now = (double)peak;
	if (live > 0 && strcmp(most->role, "launcher") != 0) {
		double ranks = (double)scene->snapshot->report->rank_count;
		row->cells[IMBALANCE].now = (double)most_live * fmax(ranks, 1) / (double)live;
	}
	row->cells[ROLE].text = hk_view_role(most->role);
	set_counts(scene->history, row, allocs, frees);
}

static void fill(const struct hk_scene *scene, struct hk_rows *rows)
{
	const struct hk_report *report = scene->snapshot->report;
	const struct hk_report_memory **sorted =
	    malloc((report->memory_count + 1) * sizeof(*sorted));

	if (!sorted) {
		rows->failed = true;
		return;
	}
	for (size_t i = 0; i < report->memory_count; i++) {
		sorted[i] = &report->memory[i];
	}
	qsort(sorted, report->memory_count, sizeof(*sorted), by_kind);
	for (size_t from = 0, to; from < report->memory_count; from = to) {
		for (to = from + 1; to < report->memory_count && is_same(sorted[from], sorted[to]);
		     to++) {
		}
		add(scene, sorted + from, to - from, rows);
	}
	free(sorted);
}

static void expand(const struct hk_scene *scene, const struct hk_row *parent, struct hk_rows *rows)
{
	const struct hk_report *report = scene->snapshot->report;
	char key[KEY_BYTES];

	for (size_t i = 0; i < report->memory_count; i++) {
		const struct hk_report_memory *memory = &report->memory[i];
		snprintf(key, sizeof(key), "%s\n%s\n%s", memory->kind, memory->role,
			 memory->library);
		if (strcmp(key, parent->key) != 0) {
			continue;
		}
		snprintf(key, sizeof(key), "%s\n%" PRId32 "\n%" PRId32, parent->key, memory->rank,
			 memory->device);
		struct hk_row *row = hk_rows_add(rows, key);
		if (!row) {
			return;
		}
		row->depth = 1;
		row->cells[LIBRARY].text =
		    memory->device < 0 ? hk_rows_text(rows, "rank %" PRId32, memory->rank)
				       : hk_rows_text(rows, "rank %" PRId32 "  device %" PRId32,
						      memory->rank, memory->device);
		row->cells[LIBRARY].now = memory->rank;
		row->cells[LIVE].now = row->cells[MOST].now = (double)memory->live_bytes;
		row->cells[PEAK].now = (double)memory->peak_bytes;
		set_counts(scene->below, row, memory->allocs, memory->frees);
	}
}

const struct hk_view hk_view_memory = {
    .name = "Memory",
    .word = "memory",
    .empty = "no memory call is hooked: the host's are with --hooks libc",
    .keys = HK_GROUP_FUNCTION,
    .columns = columns,
    .column_count = COLUMNS,
    .sort = LIVE,
    .fill = fill,
    .expand = expand,
    .rows_below = "ranks",
};
