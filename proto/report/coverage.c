#include "report/coverage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/segment.h"
#include "text/name.h"
#include "wire/columns.h"

#define NOTES_BYTES 1024
#define HOOKS_COLUMNS 80   /* of the list of hooks, where it is quoted */
#define REASON_COLUMNS 200 /* of what a process lacks, where it stands for all */

/* What became of slots that are not patched: the key in JSON, and in words. */
static const struct {
	const char *key, *words;
} refusals[] = {
    [HK_REFUSED_PENDING] = {"pending", "slots not relocated yet"},
    [HK_REFUSED_DENIED] = {"denied", "slots on the deny list"},
    [HK_REFUSED_THUNKS] = {"thunks", "slots without a free thunk"},
    [HK_REFUSED_PROTECTED] = {"protected", "slots on protected pages"},
    [HK_REFUSED_MEMORY] = {"memory", "slots without memory for a site"},
    [HK_REFUSED_DATA] = {"data", "symbols that are no functions"},
    [HK_REFUSED_FOREIGN] = {"foreign", "slots held by another patcher"},
    [HK_REFUSED_POINTER] = {"pointer", "addresses that the program may compare"},
    [HK_REFUSED_VARIANT] = {"variant", "functions of a variant calling convention"},
};
static const size_t refusals_known = sizeof(refusals) / sizeof(refusals[0]);

static_assert(HK_REPORT_REFUSALS == HK_REFUSALS_MAX, "one count for each reason");

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

/* Whether anything hooked was called. What a program says of itself (hk_range_push ...) needs no
 * slot, and no object provides it. */
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

/* Why there is not one call to show: nobody shall take "no events" for "no calls". Functions that
 * were looked up by name need no slot. */
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

static void note_all(FILE *notes, const struct hk_report *report, const Hk__Process *process,
		     const struct hk_report_process *row)
{
	note_nothing(notes, report, process, row);
	for (size_t reason = 0; reason < HK_REPORT_REFUSALS; reason++) {
		note(notes, row->refused[reason],
		     reason < refusals_known
			 ? refusals[reason].words
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

int hk_coverage_fill(struct hk_report *report, const Hk__Process *process,
		     struct hk_report_process *row)
{
	char text[NOTES_BYTES] = "";
	FILE *notes = fmemopen(text, sizeof(text) - 1, "w");

	if (!notes) {
		return -ENOMEM;
	}
	if (process->coverage) {
		count(process->coverage, row);
		row->sites_untimed = process->n_sites > HK_SITES_TIMED
					 ? (uint32_t)(process->n_sites - HK_SITES_TIMED)
					 : 0;
		note_all(notes, report, process, row);
	}
	fclose(notes);
	row->coverage = hk_report_strings_get(&report->strings, text);
	return row->coverage ? 0 : -ENOMEM;
}

void hk_coverage_write_empty(const struct hk_report *report, FILE *output)
{
	char reason[HK_NAME_BYTES(REASON_COLUMNS)] = "no process loaded the agent";

	for (size_t i = 0; i < report->process_count; i++) {
		const struct hk_report_process *row = &report->processes[i];
		if (i == 0 || strcmp(row->role, "main") == 0) {
			hk_name_print(reason, REASON_COLUMNS, row->coverage);
		}
		if (strcmp(row->role, "main") == 0) {
			break;
		}
	}
	fprintf(output, "no call was seen%s%s: hookcli doctor -- CMD shows what the agent finds\n",
		*reason ? ": " : "", reason);
}

static json_t *refused_json(const struct hk_report_process *row)
{
	json_t *object = json_object();
	char unknown[32];

	for (size_t reason = 0; reason < HK_REPORT_REFUSALS; reason++) {
		if (row->refused[reason] == 0) {
			continue;
		}
		snprintf(unknown, sizeof(unknown), "reason %zu", reason);
		json_object_set_new(object,
				    reason < refusals_known ? refusals[reason].key : unknown,
				    json_integer(row->refused[reason]));
	}
	return object;
}

json_t *hk_coverage_json(const struct hk_report_process *row)
{
	char *notes = hk_name_utf8(row->coverage);
	json_t *object = json_pack(
	    "{s:i, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:s}", "rank",
	    (int)row->rank, "role", row->role, "pid", (json_int_t)row->pid, "objects",
	    (json_int_t)row->objects, "objects_pending", (json_int_t)row->objects_pending,
	    "slots_found", (json_int_t)row->slots_found, "slots_patched",
	    (json_int_t)row->slots_patched, "slots_refused", (json_int_t)row->slots_refused,
	    "refused", refused_json(row), "hooks", (json_int_t)row->hooks_in_force,
	    "symbols_escaped", (json_int_t)row->symbols_escaped, "namespaces_hidden",
	    (json_int_t)row->namespaces_hidden, "objects_hidden", (json_int_t)row->objects_hidden,
	    "notes", notes ? notes : "");

	free(notes);
	return object;
}
