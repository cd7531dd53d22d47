#include "collector/feed/closed_jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "collector/job/jobdir.h"
#include "collector/lifecycle/job_open.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"

#define PREFIX "closed."

struct hk_closed_job {
	char id[HK_JOBDIR_ID_BYTES];
	uint64_t sequence; /* UINT64_MAX: not known yet */
	struct hk_closed_job *next;
};

static struct hk_closed_job *add(struct hk_closed_jobs *jobs, const char *id, uint64_t sequence)
{
	struct hk_closed_job *job;
	LL_FOREACH (jobs->list, job) {
		if (strcmp(job->id, id) == 0) {
			job->sequence = sequence;
			return job;
		}
	}
	job = strlen(id) < sizeof(job->id) ? calloc(1, sizeof(*job)) : NULL;
	if (job) {
		memcpy(job->id, id, strlen(id) + 1);
		job->sequence = sequence;
		LL_PREPEND(jobs->list, job);
	}
	return job;
}

struct restoring {
	struct hk_closed_jobs *jobs;
	struct hk_collector *collector;
};

static int restore(void *context, const char *path)
{
	struct restoring *restoring = context;
	struct hk_job *job;
	int r = hk_job_recall_from(restoring->collector, path, &job);
	if ((r == 0 || r == -EEXIST) && !add(restoring->jobs, job->state->id, UINT64_MAX)) {
		return -ENOMEM;
	}
	return r == -EEXIST ? 0 : r;
}

void hk_closed_jobs_restore(struct hk_closed_jobs *jobs, struct hk_collector *collector)
{
	struct restoring restoring = {jobs, collector};
	hk_jobdir_take_up(collector->dirfd[0], PREFIX, restore, &restoring);
}

void hk_closed_jobs_seen(struct hk_closed_jobs *jobs, uint64_t sequence)
{
	struct hk_closed_job *job;
	LL_FOREACH (jobs->list, job) {
		job->sequence = job->sequence == UINT64_MAX ? sequence : job->sequence;
	}
}

int hk_closed_jobs_add(struct hk_closed_jobs *jobs, const struct hk_collector *collector,
		       const struct hk_job *job, uint64_t sequence)
{
	if (!add(jobs, job->state->id, sequence)) {
		return -ENOMEM;
	}
	return hk_jobdir_link(collector->dirfd[0], PREFIX, job->state->id, job->state->directory);
}

void hk_closed_jobs_pass(struct hk_closed_jobs *jobs, const struct hk_collector *collector,
			 uint64_t position)
{
	struct hk_closed_job *job, *next;
	LL_FOREACH_SAFE(jobs->list, job, next)
	{
		if (job->sequence <= position) {
			hk_jobdir_unlink(collector->dirfd[0], PREFIX, job->id);
			LL_DELETE(jobs->list, job);
			free(job);
		}
	}
}

void hk_closed_jobs_free(struct hk_closed_jobs *jobs)
{
	struct hk_closed_job *job, *next;
	LL_FOREACH_SAFE(jobs->list, job, next)
	{
		free(job);
	}
	jobs->list = NULL;
}
