/* closed_jobs.h: jobs that were closed by messages behind the position.
 *
 * A root that starts at the position gets those messages again, and must know that the jobs are
 * there. Until then each has a link "closed.<id>" in the run directory. One thread.
 */
#ifndef HK_COLLECTOR_FEED_CLOSED_JOBS_H
#define HK_COLLECTOR_FEED_CLOSED_JOBS_H

#include <stddef.h>
#include <stdint.h>

struct hk_collector;
struct hk_job;

struct hk_closed_job;

struct hk_closed_jobs {
	struct hk_closed_job *list;
};

/* Takes up the jobs that an earlier root linked. They stay linked until the position is at least
 * that of a message which this root has handled (hk_closed_jobs_seen). */
void hk_closed_jobs_restore(struct hk_closed_jobs *jobs, struct hk_collector *collector);
/* All messages up to SEQUENCE were stored before an earlier root ended. */
void hk_closed_jobs_seen(struct hk_closed_jobs *jobs, uint64_t sequence);

/* Links JOB, which a message up to SEQUENCE has closed. Returns 0 or -errno. */
int hk_closed_jobs_add(struct hk_closed_jobs *jobs, const struct hk_collector *collector,
		       const struct hk_job *job, uint64_t sequence);

/* Removes the links of jobs that were closed by messages up to POSITION. */
void hk_closed_jobs_pass(struct hk_closed_jobs *jobs, const struct hk_collector *collector,
			 uint64_t position);

void hk_closed_jobs_free(struct hk_closed_jobs *jobs);

#endif
