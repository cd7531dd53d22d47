/* The ranks, each with all it calls: as a map by node, and as rows. What they are inside of calls
 * is that of all their threads, idle waits too, and may be more than all of the time. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tui/view.h"

enum { RANK, HOST, RATE, BUSY, SPARK, ERRORS, HEAP, RSS, RECORDS, LOST, COST, STATE, COLUMNS };

static const struct hk_column columns[COLUMNS] = {
    [RANK] = {"RANK", NULL, HK_CELL_NAME, 0, 14, 9, true},
    [HOST] = {"NODE", NULL, HK_CELL_TEXT, 0, 8, 4, true},
    [RATE] = {"CALLS/s", "CALLS", HK_CELL_COUNT, HK_CELL_INTEGER, 7, 8, true},
    [BUSY] = {"INSIDE%", "TIME", HK_CELL_PERCENT, HK_CELL_NS, 8, 8, true},
    [SPARK] = {"60s", NULL, HK_CELL_SPARK, 0, 10, 2, false},
    [ERRORS] = {"ERR", NULL, HK_CELL_INTEGER, 0, 5, 3, true},
    [HEAP] = {"HEAP", "HEAP PEAK", HK_CELL_BYTES, HK_CELL_BYTES, 9, 5, true},
    [RSS] = {"RSS PEAK", NULL, HK_CELL_BYTES, 0, 8, 3, true},
    [RECORDS] = {"RECORDS", NULL, HK_CELL_COUNT, 0, 7, 1, true},
    [LOST] = {"LOST", NULL, HK_CELL_INTEGER, 0, 5, 4, true},
    [COST] = {"COST%", NULL, HK_CELL_PERCENT, 0, 5, 2, true},
    [STATE] = {"STATE", NULL, HK_CELL_TEXT, 0, 9, 6, true},
};

/* Heap of the rank's main process, live and peak. */
static void set_heap(const struct hk_report *report, int32_t rank, struct hk_table_cell *cell)
{
	for (size_t i = hk_view_memory_of(report, rank);
	     i < report->memory_count && report->memory[i].rank == rank; i++) {
		const struct hk_report_memory *memory = &report->memory[i];
		if (memory->device < 0 && strcmp(memory->library, "*") == 0 &&
		    strcmp(memory->kind, "heap") == 0 && strcmp(memory->role, "main") == 0) {
			cell->now = (double)memory->live_bytes;
			cell->total = (double)memory->peak_bytes;
		}
	}
}

static const char *state_of(const struct hk_report_rank *rank, struct hk_rows *rows)
{
	const struct hk_report_exit *exit = &rank->exit;

	if (!exit->have_code || (strcmp(exit->kind, "exited") == 0 && exit->code == 0)) {
		return exit->kind;
	}
	return hk_rows_text(rows, "%s %" PRId32, exit->kind, exit->code);
}

static void set_rank(const struct hk_report *report, int32_t number, struct hk_rows *rows,
		     struct hk_row *row)
{
	const struct hk_report_rank *rank = hk_view_rank(report, number);

	if (!rank) {
		return;
	}
	double wall = (double)(rank->end_ns - rank->start_ns);
	row->cells[HOST].text = rank->host;
	row->cells[RSS].now = rank->rss_peak_bytes > 0 ? (double)rank->rss_peak_bytes : NAN;
	row->cells[RECORDS].now = (double)rank->records;
	row->cells[LOST].now = (double)rank->lost_records;
	row->cells[COST].now = wall > 0 ? 100 * (double)rank->tracing_cost_ns / wall : NAN;
	row->cells[STATE].text = state_of(rank, rows);
	bool bad = rank->lost_records > 0 || strcmp(rank->exit.kind, "silent") == 0 ||
		   strcmp(rank->exit.kind, "signal") == 0 || strcmp(rank->exit.kind, "oom") == 0;
	row->mark = bad ? HK_ROW_ALERT : row->mark;
}

/* Ranks that call nothing yet are there too: GROUP without calls. */
static void add(const struct hk_scene *scene, const struct hk_group *group, struct hk_rows *rows)
{
	const struct hk_report *report = scene->picture->report;
	struct hk_row *row = hk_view_add(rows, "", group);
	struct hk_table_cell calls[HK_VIEW_CALLS];
	bool is_main = strcmp(group->role, "main") == 0;

	if (!row) {
		return;
	}
	hk_view_count(scene->history, row, group, 1, true, calls);
	row->expandable = true;
	row->aside = !is_main;
	row->pick = (struct hk_pick){.role = group->role, .have_rank = true, .rank = group->rank};
	row->cells[RANK].text =
	    hk_rows_text(rows, is_main ? "%" PRId32 : "%" PRId32 " %s", group->rank, group->role);
	row->cells[RANK].now = group->rank;
	row->cells[RATE] = calls[HK_VIEW_RATE];
	row->cells[BUSY] = calls[HK_VIEW_BUSY];
	row->cells[ERRORS] = calls[HK_VIEW_ERRORS];
	if (is_main) {
		set_heap(report, group->rank, &row->cells[HEAP]);
		set_rank(report, group->rank, rows, row);
	}
}

static void fill(const struct hk_scene *scene, struct hk_rows *rows)
{
	const struct hk_picture *picture = scene->picture;
	const struct hk_report *report = picture->report;
	size_t at = 0;

	/* Groups are by rank, as the report's ranks are. */
	for (size_t i = 0; i < picture->calls.count; i++) {
		const struct hk_group *group = &picture->calls.groups[i];
		add(scene, group, rows);
		for (; at < report->rank_count && report->ranks[at].rank < group->rank; at++) {
			const struct hk_group idle = {.role = "main",
						      .rank = report->ranks[at].rank};
			add(scene, &idle, rows);
		}
		at += at < report->rank_count && report->ranks[at].rank == group->rank &&
		      strcmp(group->role, "main") == 0;
	}
	for (; at < report->rank_count; at++) {
		const struct hk_group idle = {.role = "main", .rank = report->ranks[at].rank};
		add(scene, &idle, rows);
	}
}

static void name(const struct hk_scene *scene, const struct hk_group *group, struct hk_rows *rows,
		 struct hk_row *row)
{
	(void)scene;
	row->cells[RANK].text = hk_rows_text(rows, "%s", group->function);
	row->cells[HOST].text = hk_rows_text(rows, "%s", group->domain);
}

static void expand(const struct hk_scene *scene, const struct hk_row *parent, struct hk_rows *rows)
{
	static const struct hk_view_below below = {RATE, BUSY, ERRORS, 0, name};

	hk_view_expand(scene, parent, rows, &below);
}

const struct hk_view hk_view_ranks = {
    .name = "Ranks",
    .word = "ranks",
    .empty = "no rank seen yet",
    .keys = HK_GROUP_RANK,
    .below = HK_GROUP_FUNCTION,
    .columns = columns,
    .column_count = COLUMNS,
    .sort = RANK,
    .fill = fill,
    .expand = expand,
    .rows_below = "functions",
    .heat = BUSY,
};
