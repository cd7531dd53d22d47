#include "report/build/coverage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/build/device_time.h"
#include "report/build/runtimes.h"
#include "report/model/bare.h"
#include "report/model/refusals.h"
#include "report/model/stacks.h"
#include "ring/segment.h"
#include "text/name.h"
#include "wire/columns.h"

#define NOTES_BYTES 1024
#define BARE_COLUMNS 40 /* of a program in a note */
#define BARE_NAMED 3u
#define RUNTIMES_NAMED 3u
#define PYTHON_BYTES 128
#define HOOKS_COLUMNS 80 /* of the list of hooks in a note */

static void note(FILE *notes, uint64_t count, const char *what)
{
	if (count > 0) {
		fprintf(notes, "%s%" PRIu64 " %s", ftell(notes) > 0 ? "; " : "", count, what);
	}
}

static bool has_provider(const Hk__Process *process, uint32_t site)
{
	for (size_t i = 0; i < process->n_sites; i++) {
		if (process->sites[i]->id == site) {
			return *process->sites[i]->provider != '\0';
		}
	}
	return false;
}

/* Whether a hooked function was called. Calls that a program reports itself (hk_range_push ...)
 * need no slot, and no object provides them: they do not count without a patched slot. */
static bool was_called(const Hk__Process *process, const struct hk_report_process *row)
{
	struct hk_columns_walk walk = {.columns = process->cells};
	struct hk_columns_row cell;

	while (hk_columns_next(&walk, &cell)) {
		if (cell.calls > 0 &&
		    (row->slots_patched > 0 || has_provider(process, cell.site))) {
			return true;
		}
	}
	return false;
}

/* Writes why there are no calls, so that "no events" is not read as "no calls". Functions that were
 * looked up by name need no slot. */
static void note_nothing(FILE *notes, const struct hk_report *report, const Hk__Process *process,
			 const struct hk_report_process *row)
{
	char hooks[HK_NAME_BYTES(HOOKS_COLUMNS)];

	hk_name_print(hooks, HOOKS_COLUMNS, row->hooks);
	if (report->folded || process->agent != HK__AGENT_STATE__AGENT_ON ||
	    row->objects_pending > 0 || was_called(process, row)) {
		return;
	}
	if (!row->hooks_in_force) {
		fprintf(notes, "nothing hooked: no hook of '%s' is in force", hooks);
	} else if (!row->slots_found) {
		fprintf(notes, "nothing hooked: no object calls what '%s' names", hooks);
	} else if (!row->slots_patched) {
		fprintf(notes, "nothing hooked: every slot was refused");
	} else if (strcmp(row->role, "main") == 0) {
		fprintf(notes, "no call went through the slots patched");
	}
}

static void note_bare(FILE *notes, const Hk__Process *process)
{
	char name[HK_NAME_BYTES(BARE_COLUMNS)];
	size_t count = process->n_bare_programs;

	for (size_t i = 0; i < count && i < BARE_NAMED; i++) {
		const Hk__BareProgram *bare = process->bare_programs[i];
		hk_name_print_end(name, BARE_COLUMNS, bare->program);
		fprintf(notes, "%s%s %s", ftell(notes) > 0 ? "; " : "", name,
			hk_bare_words(bare->reason));
	}
	note(notes, (count > BARE_NAMED ? count - BARE_NAMED : 0) + process->bare_more,
	     "more programs were started without the agent");
}

/* Calls of a runtime that is linked in are in no column: without this, "escaped 0" would read as
 * "everything is seen". */
static void note_runtimes(FILE *notes, const Hk__Process *process)
{
	char name[HK_NAME_BYTES(BARE_COLUMNS)];
	size_t count = process->n_cuda_inside;

	if (count == 0) {
		return;
	}
	fprintf(notes, "%sa CUDA runtime is linked into ", ftell(notes) > 0 ? "; " : "");
	for (size_t i = 0; i < count && i < RUNTIMES_NAMED; i++) {
		hk_name_print_end(name, BARE_COLUMNS, hk_name_base(process->cuda_inside[i]));
		fprintf(notes, "%s%s", i > 0 ? ", " : "", name);
	}
	if (count > RUNTIMES_NAMED) {
		fprintf(notes, " and %zu more", count - RUNTIMES_NAMED);
	}
	fprintf(notes, ": its cuda* calls are not seen, %s",
		hk_report_has_driver(process) ? "its calls of the driver are"
					      : "and no CUDA driver was loaded");
}

static void note_all(FILE *notes, const struct hk_report *report, const Hk__Process *process,
		     const struct hk_report_process *row)
{
	note_nothing(notes, report, process, row);
	note_bare(notes, process);
	note_runtimes(notes, process);
	for (size_t reason = 0; reason < HK_REPORT_REFUSALS; reason++) {
		note(notes, row->refused[reason],
		     hk_refusal_words(reason)
			 ? hk_refusal_words(reason)
			 : "slots refused for a reason unknown to this version");
	}
	note(notes, row->sites_untimed, "call sites counted and not timed: too many");
	note(notes, row->calls_untimed,
	     "calls counted and not timed: from too many places, or too deep");
	note(notes, row->objects_pending, "objects not relocated yet");
	note(notes, row->namespaces_hidden, "link-map namespaces out of sight");
	note(notes, row->objects_hidden, "objects in them");
	note(notes, row->symbols_escaped, "hooked functions looked up by name and not seen");
	note(notes, process->coverage->hook_lines_bad, "bad lines in hooks files");
	hk_device_time_note(notes, &row->device_time);
	char python[PYTHON_BYTES];
	if (hk_stacks_without_python(process, python, sizeof(python))) {
		fprintf(notes, "%s%s", ftell(notes) > 0 ? "; " : "", python);
	}
}

static void count(const Hk__Coverage *coverage, struct hk_report_process *row)
{
	row->objects = coverage->objects;
	row->objects_pending = coverage->objects_pending;
	row->objects_hidden = coverage->objects_hidden;
	row->namespaces_hidden = coverage->namespaces_hidden;
	row->slots_found = coverage->slots_found;
	row->slots_patched = coverage->slots_patched;
	row->symbols_escaped = coverage->symbols_escaped;
	row->hooks_in_force = coverage->hooks;
	for (size_t i = 0; i < coverage->n_refusals; i++) {
		const Hk__Refusal *refusal = coverage->refusals[i];
		row->slots_refused += refusal->slots;
		if (refusal->reason < HK_REPORT_REFUSALS) {
			row->refused[refusal->reason] += refusal->slots;
		}
	}
}

/* Returns how many sites are counted only, for lack of a thunk that could do more. */
static uint32_t untimed(const Hk__Process *process)
{
	uint32_t count = 0;

	for (size_t i = 0; i < process->n_sites; i++) {
		count += (process->sites[i]->flags & HK_SITE_COUNTED) != 0;
	}
	return count;
}

int hk_coverage_fill(struct hk_report *report, const Hk__Process *process,
		     struct hk_report_process *row)
{
	char text[NOTES_BYTES] = "";
	FILE *notes = fmemopen(text, sizeof(text) - 1, "w");

	if (!notes) {
		return -ENOMEM;
	}
	hk_device_time_fill(process, row);
	if (process->coverage) {
		count(process->coverage, row);
		row->sites_untimed = untimed(process);
		note_all(notes, report, process, row);
	}
	fclose(notes);
	row->coverage = hk_report_strings_get(&report->strings, text);
	return row->coverage ? 0 : -ENOMEM;
}
