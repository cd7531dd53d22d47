/* Each process: its calls, and how far the agent traced it. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/tui/view.h"

/* clang-format off */
enum {
	PROCESS, RANK, ROLE, RATE, BUSY, ERRORS, AGENT, OBJECTS, PATCHED, REFUSED, HOOKS, UNCOUNTED, NOTES,
	COLUMNS
};
/* clang-format on */

static const struct hk_column columns[COLUMNS] = {
    [PROCESS] = {"PROCESS", NULL, HK_CELL_NAME, 0, 14, 9, true},
    [RANK] = {"RANK", NULL, HK_CELL_INTEGER, 0, 4, 8, true},
    [ROLE] = {"ROLE", NULL, HK_CELL_TEXT, 0, 8, 4, true},
    [RATE] = {"CALLS/s", "CALLS", HK_CELL_COUNT, HK_CELL_INTEGER, 7, 8, true},
    [BUSY] = {"INSIDE%", "TIME", HK_CELL_PERCENT, HK_CELL_NS, 7, 8, true},
    [ERRORS] = {"ERR", NULL, HK_CELL_INTEGER, 0, 5, 3, true},
    [AGENT] = {"AGENT", NULL, HK_CELL_TEXT, 0, 6, 8, true},
    [OBJECTS] = {"OBJECTS", NULL, HK_CELL_INTEGER, 0, 7, 4, true},
    [PATCHED] = {"PATCHED", NULL, HK_CELL_INTEGER, 0, 7, 7, true},
    [REFUSED] = {"REFUSED", NULL, HK_CELL_INTEGER, 0, 7, 7, true},
    [HOOKS] = {"HOOKS", NULL, HK_CELL_INTEGER, 0, 5, 3, true},
    [UNCOUNTED] = {"UNCOUNTED", NULL, HK_CELL_INTEGER, 0, 9, 5, true},
    [NOTES] = {"NOTES", NULL, HK_CELL_TEXT, 0, 30, 6, true},
};

static void set_calls(struct hk_history *history, const struct hk_report_process *process,
		      struct hk_row *row)
{
	const struct hk_group group = {.numbers = {.calls = process->calls,
						   .errors = process->errors,
						   .self_ns = process->inside_ns,
						   .have_total = process->have_inside}};
	struct hk_table_cell calls[HK_VIEW_CALLS];

	hk_view_count(history, row, &group, 1, true, calls);
	row->cells[RATE] = calls[HK_VIEW_RATE];
	row->cells[BUSY] = calls[HK_VIEW_BUSY];
	row->cells[ERRORS] = calls[HK_VIEW_ERRORS];
}

static void add(struct hk_history *history, const struct hk_report_process *process, size_t index,
		struct hk_rows *rows)
{
	const char *note = *process->coverage ? process->coverage : process->note;
	char key[64];

	snprintf(key, sizeof(key), "%zu %" PRIu32 " %" PRId64, index, process->pid,
		 process->start_ns);
	struct hk_row *row = hk_rows_add(rows, key);
	if (!row) {
		return;
	}
	set_calls(history, process, row);
	bool bad = strcmp(process->agent, "on") != 0 || process->calls_untracked > 0;
	row->mark = bad ? HK_ROW_ALERT : row->mark;
	row->cells[PROCESS].text =
	    hk_rows_text(rows, "%" PRIu32 " %s", process->pid, process->command);
	row->cells[PROCESS].now = process->pid;
	row->cells[RANK].now = process->rank;
	row->cells[ROLE].text = hk_view_role(process->role);
	row->cells[AGENT].text = process->agent;
	row->cells[OBJECTS].now = process->objects;
	row->cells[PATCHED].now = process->slots_patched;
	row->cells[REFUSED].now = process->slots_refused;
	row->cells[HOOKS].now = process->hooks_in_force;
	row->cells[UNCOUNTED].now = (double)process->calls_untracked;
	row->cells[NOTES].text = note;
}

static void fill(const struct hk_scene *scene, struct hk_rows *rows)
{
	const struct hk_report *report = scene->snapshot->report;

	for (size_t i = 0; i < report->process_count; i++) {
		add(scene->history, &report->processes[i], i, rows);
	}
}

const struct hk_view hk_view_coverage = {
    .name = "Processes",
    .word = "processes",
    .alias = "coverage",
    .empty = "no process seen yet",
    .keys = HK_GROUP_PROCESS,
    .columns = columns,
    .column_count = COLUMNS,
    .sort = RANK,
    .rising = true,
    .fill = fill,
};
