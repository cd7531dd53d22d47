#include "report/build/runtimes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/role.h"

#define DRIVER_LOADED 1u /* Process.cuda_driver */

bool hk_report_has_driver(const Hk__Process *process)
{
	bool called = process->cuda_driver == DRIVER_LOADED;

	for (size_t i = 0; !called && i < process->n_sites; i++) {
		const char *function = process->sites[i]->function;
		called = strncmp(function, "cu", 2) == 0 && function[2] >= 'A' &&
			 function[2] <= 'Z' && strcmp(process->sites[i]->domain, "cuda") == 0;
	}
	return called;
}

int hk_report_runtimes_fill(struct hk_report *report, const Hk__Snapshot *snapshot)
{
	size_t count = 0;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		count += snapshot->processes[i]->n_cuda_inside;
	}
	report->runtimes = calloc(count + 1, sizeof(*report->runtimes));
	if (!report->runtimes) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];
		bool driver = process->n_cuda_inside && hk_report_has_driver(process);
		for (size_t k = 0; k < process->n_cuda_inside; k++) {
			struct hk_report_runtime *to = &report->runtimes[report->runtime_count++];
			to->rank = hk_report_rank_of(process);
			to->pid = process->pid;
			to->role = hk_report_role_of(process);
			to->driver = driver;
			to->library =
			    hk_report_strings_get(&report->strings, process->cuda_inside[k]);
			if (!to->library) {
				return -ENOMEM;
			}
		}
	}
	return 0;
}
