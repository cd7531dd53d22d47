/* job_close.h: decides when a job is over, and closes it. One thread. */
#ifndef HK_COLLECTOR_LIFECYCLE_JOB_CLOSE_H
#define HK_COLLECTOR_LIFECYCLE_JOB_CLOSE_H

#include <stdbool.h>
#include <stdint.h>

struct hk_collector;
struct hk_job;

/* Returns whether JOB is over at NOW_NS (monotonic). AWAITED nodes have not brought all of it yet.
 * Announced jobs end with their command, others some time after their last process. */
bool hk_job_should_close(const struct hk_collector *collector, const struct hk_job *job,
			 uint32_t awaited, uint64_t now_ns);

/* Completes the directory: final messages, job.json, report. No process of the job may have a
 * segment. Returns 0, or -errno if a file could not be written: the job is then still open, and the
 * caller tries again when that is due. */
int hk_job_close(struct hk_collector *collector, struct hk_job *job);
/* Returns whether an attempt to close JOB is due: none failed within the last second. */
bool hk_job_close_is_due(const struct hk_job *job, uint64_t now_ns);

#endif
