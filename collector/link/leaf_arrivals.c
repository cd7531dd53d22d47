#include "collector/link/leaf_arrivals.h"

#include <stdbool.h>
#include <stdlib.h>
#include <utlist.h>

#include "collector/arrival/arrivals.h"
#include "collector/model/job.h"
#include "collector/model/process.h"

#define CALLS_AT_ONCE 4096u

static bool append(struct hk_leaf_arrivals *arrivals, Hk__Arrivals *message)
{
	Hk__Arrivals **list =
	    reallocarray(arrivals->list, arrivals->count + 1, sizeof(*arrivals->list));

	if (!list) {
		hk__arrivals__free_unpacked(message, NULL);
		return false;
	}
	arrivals->list = list;
	list[arrivals->count++] = message;
	return true;
}

/* Adds new calls of PROCESS as long as there is room. */
static void take(struct hk_leaf_arrivals *arrivals, const struct hk_process *process)
{
	Hk__Arrivals *message;

	while (process->arrivals && arrivals->bytes < HK_LEAF_ARRIVALS_BYTES &&
	       hk_arrivals_take(process->arrivals, process->state, CALLS_AT_ONCE, &message) > 0) {
		size_t size = hk__arrivals__get_packed_size(message);
		arrivals->bytes += append(arrivals, message) ? size : 0;
	}
}

void hk_leaf_arrivals_take(struct hk_leaf_arrivals *arrivals, const struct hk_job *job)
{
	const struct hk_process *process;

	DL_FOREACH (job->processes, process) {
		take(arrivals, process);
	}
}

void hk_leaf_arrivals_fini(struct hk_leaf_arrivals *arrivals)
{
	for (size_t i = 0; i < arrivals->count; i++) {
		hk__arrivals__free_unpacked(arrivals->list[i], NULL);
	}
	free(arrivals->list);
	*arrivals = (struct hk_leaf_arrivals){.list = NULL};
}
