#include "collector/lifecycle/job_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/arrival/matcher.h"
#include "collector/job/jobdir.h"
#include "collector/lifecycle/job_sum.h"
#include "collector/lifecycle/process_list.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "wire/statistics.h"

void hk_job_forget_processes(struct hk_collector *collector, const struct hk_job *job)
{
	while (job->processes) {
		hk_process_forget(collector, job->processes);
	}
}

void hk_job_observe(struct hk_collector *collector, hk_job_observer observer)
{
	size_t count = 0;
	while (collector->observers[count]) {
		count++;
	}
	collector->observers[count] = observer;
}

int hk_job_announce(struct hk_collector *collector, struct hk_job *job, enum hk_job_event event)
{
	int result = 0;
	for (size_t i = 0; i < HK_COLLECTOR_OBSERVERS && collector->observers[i]; i++) {
		int r = collector->observers[i](collector, job, event);
		result = result < 0 ? result : r;
	}
	return result;
}

struct hk_job *hk_job_free(struct hk_collector *collector, struct hk_job *job)
{
	if (!job) {
		return NULL;
	}
	hk_job_forget_processes(collector, job);
	hk_job_announce(collector, job, HK_JOB_FORGOTTEN);
	if (job->state) {
		hk__job__free_unpacked(job->state, NULL);
	}
	hk_statistics_free(job->statistics);
	hk_matcher_free(job->matcher);
	free(job);
	return NULL;
}

void hk_job_free_all(struct hk_collector *collector)
{
	struct hk_job *job, *next;
	DL_FOREACH_SAFE(collector->jobs, job, next)
	{
		DL_DELETE(collector->jobs, job);
		hk_job_free(collector, job);
	}
}

int hk_job_new(struct hk_job **ret_job)
{
	struct hk_job *job = calloc(1, sizeof(*job));
	if (!job) {
		return -ENOMEM;
	}
	job->state = malloc(sizeof(*job->state));
	if (!job->state) {
		free(job);
		return -ENOMEM;
	}
	hk__job__init(job->state);
	job->opened_ns = job->alive_ns = hk_clock_monotonic_ns();
	*ret_job = job;
	return 0;
}

void hk_job_drop(struct hk_collector *collector, const char *directory)
{
	struct hk_job *job, *next;
	DL_FOREACH_SAFE(collector->jobs, job, next)
	{
		if (job->state->closed && strcmp(job->state->directory, directory) == 0) {
			DL_DELETE(collector->jobs, job);
			hk_job_free(collector, job);
		}
	}
}

bool hk_job_is_for(const struct hk_job *job, const char *user)
{
	return !*user || strcmp(job->state->user, user) == 0;
}

struct hk_job *hk_job_find_id(const struct hk_collector *collector, const char *id,
			      const char *user)
{
	struct hk_job *job;
	DL_FOREACH (collector->jobs, job) {
		if (strcmp(job->state->id, id) == 0 && hk_job_is_for(job, user)) {
			return job;
		}
	}
	return NULL;
}

struct hk_job *hk_job_find_of(const struct hk_collector *collector, const char *key,
			      const char *user)
{
	struct hk_job *job, *found = NULL;
	DL_FOREACH (collector->jobs, job) {
		if (strcmp(job->state->key, key) == 0 && strcmp(job->state->user, user) == 0) {
			found = job;
		}
	}
	return found;
}

struct hk_job *hk_job_find(const struct hk_collector *collector, const char *key)
{
	return hk_job_find_of(collector, key, "");
}

int hk_job_select(const struct hk_collector *collector, const char *text, const char *user,
		  struct hk_job **ret_job)
{
	struct hk_job *job, *exact = NULL, *begins = NULL;
	size_t length = strlen(text), matches = 0;
	DL_FOREACH (collector->jobs, job) {
		if (!hk_job_is_for(job, user)) {
			continue;
		}
		if (strcmp(job->state->id, text) == 0 || strcmp(job->state->key, text) == 0) {
			exact = job;
		}
		if (strncmp(job->state->id, text, length) == 0) {
			begins = job;
			matches++;
		}
	}
	if (!exact && length > 0 && matches > 1) {
		return -ENOTUNIQ;
	}
	if (!exact && !begins) {
		return -ENOENT;
	}
	*ret_job = exact ? exact : begins;
	return 0;
}

void hk_job_link(const struct hk_collector *collector, struct hk_job *job)
{
	int r = hk_jobdir_link(collector->dirfd[0], HK_RUNDIR_OPEN, job->state->id,
			       job->state->directory);
	if (r < 0 && r != job->link_error) {
		hk_warning("job not noted in the run directory yet id=%s error=%s", job->state->id,
			   strerror(-r));
	}
	job->link_error = r;
}

void hk_job_link_all(const struct hk_collector *collector)
{
	struct hk_job *job;
	DL_FOREACH (collector->jobs, job) {
		if (!job->state->closed) {
			hk_job_link(collector, job);
		}
	}
}

int hk_jobs_list(const struct hk_collector *collector, const char *user, Hk__Job ***ret_jobs,
		 size_t *ret_count)
{
	struct hk_job *job;
	size_t count = 0;
	DL_FOREACH (collector->jobs, job) {
		count++;
	}
	Hk__Job **jobs = calloc(count + 1, sizeof(struct hk_job *));
	if (!jobs) {
		return -ENOMEM;
	}
	count = 0;
	DL_FOREACH (collector->jobs, job) {
		if (!hk_job_is_for(job, user)) {
			continue;
		}
		if (!job->state->closed) {
			hk_job_sum(job);
		} else if (access(job->state->directory, F_OK) < 0) {
			continue; /* `hookcli rm` removed the job */
		}
		jobs[count++] = job->state;
	}
	*ret_jobs = jobs;
	*ret_count = count;
	return 0;
}
