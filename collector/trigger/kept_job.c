#include "collector/trigger/kept_job.h"

#include <errno.h>
#include <stdio.h>
#include <utlist.h>

#include "collector/job/jobdir.h"
#include "collector/lifecycle/job_sum.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/trigger/copy.h"
#include "trigger/plan.h"
#include "wire/statistics.h"

#define ID_BYTES 512u

static int put_process(struct hk_statistics *statistics, const struct hk_process *process,
		       const struct hk_kept_job *kept)
{
	/* Borrows all that the process's own message has. */
	Hk__Process state = *process->state;
	const struct hk_copy *copy = kept->copy(kept->context, process->uid);
	state.records = state.records_stored = copy ? copy->records : 0;
	state.records_shed = state.records_elsewhere = 0;
	/* The process has more chunks and losses by now. The kept job has those of the copy. */
	state.last_chunk = copy ? copy->last_number : 0;
	state.lost_records = copy ? copy->lost_records : 0;
	if (state.records_dropped > state.lost_records) {
		state.records_dropped = state.lost_records;
	}
	return hk_statistics_put_process(statistics, &state);
}

static int put_all(struct hk_statistics *statistics, struct hk_job *job,
		   const struct hk_kept_job *kept)
{
	const struct hk_process *process;
	char id[ID_BYTES], exit[64];
	int r = 0;
	snprintf(id, sizeof(id), "%s/" HK_TRIGGER_DIRECTORY "%u", job->state->id,
		 kept->trigger->number);
	snprintf(exit, sizeof(exit), "kept by trigger %u", kept->trigger->number);
	hk_job_sum(job);
	/* Borrows all that the job's own message has from now on. */
	Hk__Job state = *job->state;
	state.id = id;
	state.directory = (char *)(uintptr_t)kept->directory;
	state.whole = (char *)protobuf_c_empty_string;
	state.upstream = (char *)protobuf_c_empty_string;
	state.closed = true;
	state.exit = exit;
	state.n_rules = 0;
	state.triggers = NULL;
	state.kept = kept->trigger;
	state.stored_bytes = kept->trigger->bytes;
	DL_FOREACH (job->processes, process) {
		r = r < 0 ? r : put_process(statistics, process, kept);
	}
	r = r < 0 ? r : hk_statistics_put_job(statistics, &state);
	return r < 0 ? r : hk_jobdir_write(&state, kept->host);
}

int hk_kept_job_write(struct hk_job *job, const struct hk_kept_job *kept)
{
	struct hk_statistics *statistics;
	int r = hk_statistics_open(kept->directory, &statistics);
	if (r < 0) {
		return r;
	}
	r = put_all(statistics, job, kept);
	hk_statistics_free(statistics);
	return r;
}
