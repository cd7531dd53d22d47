/* The calling libraries, each over all ranks. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/tui/view.h"
#include "text/name.h"

enum { LIBRARY, RATE, BUSY, IMBALANCE, SPARK, ERRORS, ROLE, COLUMNS };

static const struct hk_column columns[COLUMNS] = {
    [LIBRARY] = {"CALLING LIBRARY", NULL, HK_CELL_NAME, 0, 14, 9, true},
    [RATE] = {"CALLS/s", "CALLS", HK_CELL_COUNT, HK_CELL_INTEGER, 7, 8, true},
    [BUSY] = {"INSIDE%", "TIME", HK_CELL_PERCENT, HK_CELL_NS, 8, 7, true},
    [IMBALANCE] = {"IMB", NULL, HK_CELL_RATIO, 0, 5, 5, true},
    [SPARK] = {"60s", NULL, HK_CELL_SPARK, 0, 10, 2, false},
    [ERRORS] = {"ERR", NULL, HK_CELL_INTEGER, 0, 5, 3, true},
    [ROLE] = {"ROLE", NULL, HK_CELL_TEXT, 0, 8, 1, true},
};

static void fill(const struct hk_scene *scene, struct hk_rows *rows)
{
	const struct hk_top_snapshot *snapshot = scene->snapshot;

	for (size_t i = 0; i < snapshot->calls.count; i++) {
		const struct hk_group *group = &snapshot->calls.groups[i];
		struct hk_row *row = hk_view_add(rows, "", group);
		struct hk_table_cell calls[HK_VIEW_CALLS];
		if (!row) {
			return;
		}
		hk_view_count(scene->history, row, group, (double)snapshot->report->rank_count,
			      true, calls);
		row->expandable = true;
		row->aside = strcmp(group->role, "launcher") == 0;
		row->pick = (struct hk_pick){.role = group->role, .library = group->library};
		row->cells[LIBRARY].text = hk_name_base(group->library);
		row->cells[RATE] = calls[HK_VIEW_RATE];
		row->cells[BUSY] = calls[HK_VIEW_BUSY];
		row->cells[ERRORS] = calls[HK_VIEW_ERRORS];
		row->cells[IMBALANCE].now = row->cells[IMBALANCE].total =
		    group->imbalance > 0 ? group->imbalance : NAN;
		row->cells[ROLE].text = hk_view_role(group->role);
	}
}

static void name(const struct hk_scene *scene, const struct hk_group *group, struct hk_rows *rows,
		 struct hk_row *row)
{
	const struct hk_report_rank *rank = hk_view_rank(scene->snapshot->report, group->rank);

	row->cells[LIBRARY].text = hk_rows_text(rows, "rank %" PRId32 "%s%s", group->rank,
						rank ? "  " : "", rank ? rank->host : "");
	row->cells[LIBRARY].now = group->rank;
}

static void expand(const struct hk_scene *scene, const struct hk_row *parent, struct hk_rows *rows)
{
	static const struct hk_view_below below = {RATE, BUSY, ERRORS, 0, name};

	hk_view_expand(scene, parent, rows, &below);
}

const struct hk_view hk_view_libraries = {
    .name = "Libraries",
    .word = "libraries",
    .empty = "no call seen yet",
    .keys = HK_GROUP_LIBRARY,
    .below = HK_GROUP_RANK,
    .columns = columns,
    .column_count = COLUMNS,
    .sort = BUSY,
    .fill = fill,
    .expand = expand,
    .rows_below = "ranks",
};
