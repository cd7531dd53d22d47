/* job_list.h: the list of the collector's jobs, open and closed, and their observers.
 *
 * An open job has its processes in memory and its statistics file open. A closed one keeps only its
 * own message; a request for its processes reads them from its directory. One thread.
 */
#ifndef HK_COLLECTOR_LIFECYCLE_JOB_LIST_H
#define HK_COLLECTOR_LIFECYCLE_JOB_LIST_H

#include <stdbool.h>

#include "collector/model/job.h"

struct hk_collector;

/* Whether JOB is shown to USER: all are to "". */
bool hk_job_is_for(const struct hk_job *job, const char *user);

/* Returns the newest job with KEY, open or closed, of USER or without a user, or NULL. */
struct hk_job *hk_job_find_of(const struct hk_collector *collector, const char *key,
			      const char *user);
struct hk_job *hk_job_find(const struct hk_collector *collector, const char *key);

/* Returns the job whose id is ID if USER may see it, or NULL. */
struct hk_job *hk_job_find_id(const struct hk_collector *collector, const char *id,
			      const char *user);

/* Finds a job among those that USER may see: the newest one whose id or key is TEXT, else the only
 * one whose id begins with TEXT, and for "" the newest. Returns 0, -ENOENT, or -ENOTUNIQ if several
 * ids begin with TEXT. */
int hk_job_select(const struct hk_collector *collector, const char *text, const char *user,
		  struct hk_job **ret_job);

/* Links JOB, or every open job, in the run directory, for hk_job_restore_all of the next collector.
 * A failure is retried with each save. */
void hk_job_link(const struct hk_collector *collector, struct hk_job *job);
void hk_job_link_all(const struct hk_collector *collector);

/* Adds OBSERVER, which is called for every job from now on. At most HK_COLLECTOR_OBSERVERS. */
void hk_job_observe(struct hk_collector *collector, hk_job_observer observer);
/* Calls all observers of COLLECTOR. Returns 0 or the first -errno. */
int hk_job_announce(struct hk_collector *collector, struct hk_job *job, enum hk_job_event event);

/* A job without a name that is in no list. -ENOMEM. */
int hk_job_new(struct hk_job **ret_job);

/* Frees JOB, which is in no list; accepts NULL, returns NULL. */
struct hk_job *hk_job_free(struct hk_collector *collector, struct hk_job *job);

/* Forgets the processes of JOB; their segments stay. */
void hk_job_forget_processes(struct hk_collector *collector, const struct hk_job *job);

/* Forgets the closed job of DIRECTORY, if it is known. */
void hk_job_drop(struct hk_collector *collector, const char *directory);

/* Frees all jobs without closing them. */
void hk_job_free_all(struct hk_collector *collector);

/* Sets *RET_JOBS, which the caller frees, to the *RET_COUNT jobs that USER may see, except ended
 * ones whose directory was removed. The sums of running jobs are brought up to date. Returns 0 or
 * -ENOMEM. */
int hk_jobs_list(const struct hk_collector *collector, const char *user, Hk__Job ***ret_jobs,
		 size_t *ret_count);

#endif
