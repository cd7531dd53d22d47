/* job_sum.h: what the processes of a job come to. One thread. */
#ifndef HK_COLLECTOR_LIFECYCLE_JOB_SUM_H
#define HK_COLLECTOR_LIFECYCLE_JOB_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_job;

/* Processes that have not ended, as far as is known. */
uint32_t hk_job_live(const struct hk_job *job);

/* Whether a process on this node has not ended. */
bool hk_job_lives_here(const struct hk_job *job);

/* Whether as many mains with a rank are known as the launcher said there are. */
bool hk_job_all_ranks(const struct hk_job *job);

/* Brings the job's own message up to date from its processes. */
void hk_job_sum(struct hk_job *job);

/* SNAPSHOT borrows the job's and its processes' messages: free only its `processes` array. */
int hk_job_snapshot(struct hk_job *job, Hk__Snapshot *ret_snapshot);

#endif
