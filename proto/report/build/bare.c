#include "report/build/bare.h"

#include <errno.h>
#include <stdlib.h>

#include "report/model/role.h"

int hk_report_bare_fill(struct hk_report *report, const Hk__Snapshot *snapshot)
{
	size_t count = 0;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		count += snapshot->processes[i]->n_bare_programs;
	}
	report->bare = calloc(count + 1, sizeof(*report->bare));
	if (!report->bare) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];
		report->bare_more += process->bare_more;
		for (size_t k = 0; k < process->n_bare_programs; k++) {
			const Hk__BareProgram *from = process->bare_programs[k];
			struct hk_report_bare *to = &report->bare[report->bare_count++];
			to->rank = hk_report_rank_of(process);
			to->pid = process->pid;
			to->role = hk_report_role_of(process);
			to->program = hk_report_strings_get(&report->strings, from->program);
			to->reason = from->reason;
			to->times = from->times;
			if (!to->program) {
				return -ENOMEM;
			}
		}
	}
	return 0;
}
