/* job_close.h: decides when a job is over, and closes it. One thread. */
#ifndef HK_COLLECTOR_LIFECYCLE_JOB_CLOSE_H
#define HK_COLLECTOR_LIFECYCLE_JOB_CLOSE_H

#include <stdbool.h>
#include <stdint.h>

struct hk_collector;
struct hk_job;

/* Whether JOB, of which AWAITED nodes have not brought everything, is over at NOW_NS (monotonic).
 * Announced jobs end with their command, others some time after their last process. */
bool hk_job_should_close(const struct hk_collector *collector, const struct hk_job *job,
			 uint32_t awaited, uint64_t now_ns);

/* Completes the directory: final messages, job.json, report. Needs that no process of it has a
 * segment any more. -errno: something could not be written, and the job is still open; to be called
 * again when that is due. */
int hk_job_close(struct hk_collector *collector, struct hk_job *job);
/* Whether an attempt to close JOB makes sense now: none failed within the last second. */
bool hk_job_close_is_due(const struct hk_job *job, uint64_t now_ns);

#endif
