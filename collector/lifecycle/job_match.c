#include "collector/lifecycle/job_match.h"

#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "collector/arrival/arrivals.h"
#include "collector/arrival/matcher.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "report/clock/job_clock.h"

static uint64_t owner_of(const struct hk_process *process)
{
	uint64_t number;

	memcpy(&number, process->uid, sizeof(number));
	return number ? number : 1;
}

int hk_job_match(struct hk_job *job, const struct hk_process *process, const Hk__Arrivals *message)
{
	const Hk__Process *state = process->state;
	struct hk_matcher_caller caller = {.owner = owner_of(process), .rank = state->rank};
	int32_t world =
	    job->state->world_size > state->world_size ? job->state->world_size : state->world_size;

	if (state->role != HK__ROLE__ROLE_MAIN || state->rank < 0) {
		return 0;
	}
	if (!job->matcher &&
	    !(job->matcher = hk_matcher_new(HK_MATCHER_PARTS, job->state->waits))) {
		return -ENOMEM;
	}
	caller.has_clock = hk_report_clock_map(job->state, state, &caller.map);
	hk_matcher_set_world(job->matcher, world);
	return hk_matcher_take(job->matcher, &caller, message);
}

/* Matches what PROCESS has done. Without memory, some of it is missing. */
static void match_process(struct hk_job *job, struct hk_process *process)
{
	Hk__Arrivals *message;

	while (process->arrivals && hk_arrivals_take(process->arrivals, process->state,
						     HK_JOB_MATCH_CALLS, &message) > 0) {
		hk_job_match(job, process, message);
		hk__arrivals__free_unpacked(message, NULL);
	}
}

void hk_job_match_all(struct hk_job *job)
{
	struct hk_process *process;
	Hk__Waits *waits;

	if (*job->state->upstream) {
		return;
	}
	DL_FOREACH (job->processes, process) {
		match_process(job, process);
	}
	if (job->matcher && hk_matcher_sums(job->matcher, &waits) == 0 && waits) {
		if (job->state->waits) {
			hk__waits__free_unpacked(job->state->waits, NULL);
		}
		job->state->waits = waits;
	}
}
