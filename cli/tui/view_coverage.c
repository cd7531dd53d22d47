/* What the agent reached in each process, and what it did not. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tui/view.h"

enum { PROCESS, RANK, ROLE, AGENT, OBJECTS, PATCHED, REFUSED, HOOKS, UNCOUNTED, NOTES, COLUMNS };

static const struct hk_column columns[COLUMNS] = {
    [PROCESS] = {"PROCESS", NULL, HK_CELL_NAME, 0, 14, 9, true},
    [RANK] = {"RANK", NULL, HK_CELL_INTEGER, 0, 4, 8, true},
    [ROLE] = {"ROLE", NULL, HK_CELL_TEXT, 0, 8, 4, true},
    [AGENT] = {"AGENT", NULL, HK_CELL_TEXT, 0, 6, 8, true},
    [OBJECTS] = {"OBJECTS", NULL, HK_CELL_INTEGER, 0, 7, 4, true},
    [PATCHED] = {"PATCHED", NULL, HK_CELL_INTEGER, 0, 7, 7, true},
    [REFUSED] = {"REFUSED", NULL, HK_CELL_INTEGER, 0, 7, 7, true},
    [HOOKS] = {"HOOKS", NULL, HK_CELL_INTEGER, 0, 5, 3, true},
    [UNCOUNTED] = {"UNCOUNTED", NULL, HK_CELL_INTEGER, 0, 9, 5, true},
    [NOTES] = {"NOTES", NULL, HK_CELL_TEXT, 0, 30, 6, true},
};

static void add(const struct hk_report_process *process, size_t index, struct hk_rows *rows)
{
	const char *note = *process->coverage ? process->coverage : process->note;
	char key[64];

	snprintf(key, sizeof(key), "%zu %" PRIu32 " %" PRId64, index, process->pid,
		 process->start_ns);
	struct hk_row *row = hk_rows_add(rows, key);
	if (!row) {
		return;
	}
	bool bad = strcmp(process->agent, "on") != 0 || process->calls_untracked > 0;
	row->mark = bad ? HK_ROW_ALERT : HK_ROW_PLAIN;
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
	const struct hk_report *report = scene->picture->report;

	for (size_t i = 0; i < report->process_count; i++) {
		add(&report->processes[i], i, rows);
	}
}

const struct hk_view hk_view_coverage = {
    .name = "Coverage",
    .word = "coverage",
    .empty = "no process seen yet",
    .keys = HK_GROUP_FUNCTION,
    .columns = columns,
    .column_count = COLUMNS,
    .sort = RANK,
    .rising = true,
    .fill = fill,
};
