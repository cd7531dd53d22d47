/* The machines, each with its ranks, its clock and its unsent data. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/tui/view.h"

enum {
	NODE,
	STATE,
	RANKS,
	RUNNING,
	RATE,
	BUSY,
	SPARK,
	ERRORS,
	COST,
	LOST,
	CLOCK,
	DRIFT,
	UNSENT,
	COLUMNS
};

static const struct hk_column columns[COLUMNS] = {
    [NODE] = {"NODE", NULL, HK_CELL_NAME, 0, 14, 9, true},
    [STATE] = {"STATE", NULL, HK_CELL_TEXT, 0, 9, 8, true},
    [RANKS] = {"RANKS", NULL, HK_CELL_INTEGER, 0, 5, 7, true},
    [RUNNING] = {"RUN", NULL, HK_CELL_INTEGER, 0, 5, 6, true},
    [RATE] = {"CALLS/s", "CALLS", HK_CELL_COUNT, HK_CELL_INTEGER, 7, 8, true},
    [BUSY] = {"INSIDE%", "TIME", HK_CELL_PERCENT, HK_CELL_NS, 8, 7, true},
    [SPARK] = {"60s", NULL, HK_CELL_SPARK, 0, 10, 1, false},
    [ERRORS] = {"ERR", NULL, HK_CELL_INTEGER, 0, 5, 3, true},
    [COST] = {"COST%", NULL, HK_CELL_PERCENT, 0, 5, 2, true},
    [LOST] = {"LOST", NULL, HK_CELL_INTEGER, 0, 5, 4, true},
    [CLOCK] = {"CLOCK +-", NULL, HK_CELL_NS, 0, 8, 5, true},
    [DRIFT] = {"PPM", NULL, HK_CELL_RATIO, 0, 6, 2, true},
    [UNSENT] = {"UNSENT", NULL, HK_CELL_BYTES, 0, 8, 3, true},
};

/* Sums over the ranks of a host. */
struct host {
	size_t ranks, running;
	uint64_t lost, cost_ns;
	double wall_ns;
	const struct hk_report_rank *last;
};

static struct host host_of(const struct hk_report *report, const char *name)
{
	struct host host = {.ranks = 0};

	for (size_t i = 0; i < report->rank_count; i++) {
		const struct hk_report_rank *rank = &report->ranks[i];
		if (strcmp(rank->host, name) == 0) {
			host.ranks++;
			host.running += rank->running;
			host.lost += rank->lost_records;
			host.cost_ns += rank->tracing_cost_ns;
			host.wall_ns += (double)(rank->end_ns - rank->start_ns);
			host.last = rank;
		}
	}
	return host;
}

/* Sums all calls of a host, of any role. */
static struct hk_group calls_of(const struct hk_top_snapshot *snapshot, const char *host)
{
	struct hk_group all = {.role = "main", .host = host};

	for (size_t i = 0; i < snapshot->calls.count; i++) {
		const struct hk_group *group = &snapshot->calls.groups[i];
		if (strcmp(group->host, host) == 0) {
			all.numbers.calls += group->numbers.calls;
			all.numbers.errors += group->numbers.errors;
			all.numbers.self_ns += group->numbers.self_ns;
			all.numbers.have_total |= group->numbers.have_total;
		}
	}
	return all;
}

static const struct hk_report_node *node_of(const struct hk_report *report, const char *host)
{
	for (size_t i = 0; i < report->node_count; i++) {
		if (strcmp(report->nodes[i].host, host) == 0) {
			return &report->nodes[i];
		}
	}
	return NULL;
}

static void add(const struct hk_scene *scene, const char *name, struct hk_rows *rows)
{
	const struct hk_report *report = scene->snapshot->report;
	const struct hk_report_node *node = node_of(report, name);
	const struct host host = host_of(report, name);
	const struct hk_group group = calls_of(scene->snapshot, name);
	struct hk_row *row = hk_view_add(rows, "", &group);
	struct hk_table_cell calls[HK_VIEW_CALLS];

	if (!row) {
		return;
	}
	hk_view_count(scene->history, row, &group, (double)host.ranks, true, calls);
	row->expandable = true;
	row->pick = (struct hk_pick){.role = "main", .host = name};
	row->cells[NODE].text = name;
	row->cells[STATE].text = node ? node->state : host.running > 0 ? "here" : "ended";
	row->cells[RANKS].now = (double)host.ranks;
	row->cells[RUNNING].now = (double)host.running;
	row->cells[RATE] = calls[HK_VIEW_RATE];
	row->cells[BUSY] = calls[HK_VIEW_BUSY];
	row->cells[ERRORS] = calls[HK_VIEW_ERRORS];
	if (host.wall_ns > 0) {
		row->cells[COST].now = 100 * (double)host.cost_ns / host.wall_ns;
	}
	row->cells[LOST].now = (double)host.lost;
	if (host.last && host.last->clock.known) {
		row->cells[CLOCK].now = (double)host.last->clock.error_ns;
		row->cells[DRIFT].now = (double)host.last->clock.drift_ppb / 1e3;
	}
	if (node) {
		row->cells[UNSENT].now = (double)node->unsent_bytes;
	}
	bool silent = node && strcmp(node->state, "silent") == 0;
	row->mark = silent || host.lost > 0 ? HK_ROW_ALERT : row->mark;
}

static bool is_added(const struct hk_rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->count; i++) {
		if (strcmp(rows->rows[i].cells[NODE].text, name) == 0) {
			return true;
		}
	}
	return false;
}

static void fill(const struct hk_scene *scene, struct hk_rows *rows)
{
	const struct hk_report *report = scene->snapshot->report;

	for (size_t i = 0; i < report->rank_count; i++) {
		bool same = i > 0 && strcmp(report->ranks[i].host, report->ranks[i - 1].host) == 0;
		if (!same && !is_added(rows, report->ranks[i].host)) {
			add(scene, report->ranks[i].host, rows);
		}
	}
	for (size_t i = 0; i < report->node_count; i++) {
		if (!is_added(rows, report->nodes[i].host)) {
			add(scene, report->nodes[i].host, rows);
		}
	}
}

static void name(const struct hk_scene *scene, const struct hk_group *group, struct hk_rows *rows,
		 struct hk_row *row)
{
	(void)scene;
	row->cells[NODE].text = hk_rows_text(rows, "rank %" PRId32, group->rank);
	row->cells[NODE].now = group->rank;
}

static void expand(const struct hk_scene *scene, const struct hk_row *parent, struct hk_rows *rows)
{
	static const struct hk_view_below below = {RATE, BUSY, ERRORS, 0, name};

	hk_view_expand(scene, parent, rows, &below);
}

const struct hk_view hk_view_nodes = {
    .name = "Nodes",
    .word = "nodes",
    .empty = "no node seen yet",
    .keys = HK_GROUP_HOST,
    .below = HK_GROUP_RANK,
    .columns = columns,
    .column_count = COLUMNS,
    .sort = NODE,
    .fill = fill,
    .expand = expand,
    .rows_below = "ranks",
};
