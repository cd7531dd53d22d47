/* The called functions, each over all ranks. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/tui/view.h"
#include "report/model/domains.h"

enum { FUNCTION, DOMAIN, RATE, BUSY, P50, P99, IMBALANCE, SPARK, ERRORS, ROLE, COLUMNS };

static const struct hk_column columns[COLUMNS] = {
    [FUNCTION] = {"FUNCTION", NULL, HK_CELL_NAME, 0, 14, 9, true},
    [DOMAIN] = {"DOM", NULL, HK_CELL_TEXT, 0, 6, 4, true},
    [RATE] = {"CALLS/s", "CALLS", HK_CELL_COUNT, HK_CELL_INTEGER, 7, 8, true},
    [BUSY] = {"BUSY%", "TIME", HK_CELL_PERCENT, HK_CELL_NS, 6, 7, true},
    [P50] = {"p50", NULL, HK_CELL_NS, 0, 6, 5, true},
    [P99] = {"p99", NULL, HK_CELL_NS, 0, 6, 6, true},
    [IMBALANCE] = {"IMB", NULL, HK_CELL_RATIO, 0, 5, 5, true},
    [SPARK] = {"60s", NULL, HK_CELL_SPARK, 0, 10, 2, false},
    [ERRORS] = {"ERR", NULL, HK_CELL_INTEGER, 0, 5, 3, true},
    [ROLE] = {"ROLE", NULL, HK_CELL_TEXT, 0, 8, 1, true},
};

/* Returns whether the governor has lowered FUNCTION's level on any rank. */
static bool is_lowered(const struct hk_report *report, const char *function)
{
	size_t length = strlen(function);

	for (size_t i = 0; i < report->step_count; i++) {
		const struct hk_report_step *step = &report->steps[i];
		size_t whole = strlen(step->pattern);
		if (!step->pinned && whole > length && step->pattern[whole - length - 1] == ':' &&
		    strcmp(step->pattern + whole - length, function) == 0) {
			return true;
		}
	}
	return false;
}

static void add(const struct hk_scene *scene, const struct hk_group *group, struct hk_rows *rows)
{
	const struct hk_report *report = scene->snapshot->report;
	const struct hk_report_numbers *n = &group->numbers;
	struct hk_row *row = hk_view_add(rows, "", group);
	struct hk_table_cell calls[HK_VIEW_CALLS];

	if (!row) {
		return;
	}
	hk_view_count(scene->history, row, group, (double)report->rank_count, false, calls);
	row->expandable = true;
	row->aside = strcmp(group->role, "launcher") == 0 || hk_domain_is_idle(group->domain);
	row->pick = (struct hk_pick){
	    .role = group->role, .domain = group->domain, .function = group->function};
	row->cells[FUNCTION].text = is_lowered(report, group->function)
					? hk_rows_text(rows, "%s *", group->function)
					: group->function;
	row->cells[DOMAIN].text = group->domain;
	row->cells[RATE] = calls[HK_VIEW_RATE];
	row->cells[BUSY] = calls[HK_VIEW_BUSY];
	row->cells[ERRORS] = calls[HK_VIEW_ERRORS];
	if (n->have_latency) {
		row->cells[P50].now = row->cells[P50].total = (double)n->p50_ns;
		row->cells[P99].now = row->cells[P99].total = (double)n->p99_ns;
	}
	double imbalance = group->imbalance > 0 ? group->imbalance : NAN;
	row->cells[IMBALANCE].now = row->cells[IMBALANCE].total = imbalance;
	row->cells[ROLE].text = hk_view_role(group->role);
}

static void fill(const struct hk_scene *scene, struct hk_rows *rows)
{
	for (size_t i = 0; i < scene->snapshot->calls.count; i++) {
		add(scene, &scene->snapshot->calls.groups[i], rows);
	}
}

static void name(const struct hk_scene *scene, const struct hk_group *group, struct hk_rows *rows,
		 struct hk_row *row)
{
	const struct hk_report_rank *rank = hk_view_rank(scene->snapshot->report, group->rank);

	row->cells[FUNCTION].text = hk_rows_text(rows, "rank %" PRId32 "%s%s", group->rank,
						 rank ? "  " : "", rank ? rank->host : "");
	row->cells[FUNCTION].now = group->rank;
}

static void expand(const struct hk_scene *scene, const struct hk_row *parent, struct hk_rows *rows)
{
	static const struct hk_view_below below = {RATE, BUSY, ERRORS, P50, name};

	hk_view_expand(scene, parent, rows, &below);
}

const struct hk_view hk_view_functions = {
    .name = "Functions",
    .word = "functions",
    .empty = "no call seen yet",
    .keys = HK_GROUP_FUNCTION,
    .below = HK_GROUP_RANK,
    .columns = columns,
    .column_count = COLUMNS,
    .sort = BUSY,
    .fill = fill,
    .expand = expand,
    .rows_below = "ranks",
};
