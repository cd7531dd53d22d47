#include "report/write/coverage_write.h"

#include <stdlib.h>
#include <string.h>

#include "report/model/refusals.h"
#include "text/name.h"

#define REASON_COLUMNS 200 /* of the coverage note of one process, shown for all */

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
				    hk_refusal_key(reason) ? hk_refusal_key(reason) : unknown,
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
