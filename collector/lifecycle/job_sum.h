/* job_sum.h: sums the processes of a job. One thread. */
#ifndef HK_COLLECTOR_LIFECYCLE_JOB_SUM_H
#define HK_COLLECTOR_LIFECYCLE_JOB_SUM_H

#include <stdbool.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_job;

/* Whether a process on this node has not ended. */
bool hk_job_lives_here(const struct hk_job *job);

/* Returns whether there are as many mains with a rank as the launcher announced. */
bool hk_job_all_ranks(const struct hk_job *job);

/* Updates the job's own message from its processes. */
void hk_job_sum(struct hk_job *job);

/* Makes SNAPSHOT, which borrows the messages of the job and its processes: the caller frees only
 * its `processes` array. */
int hk_job_snapshot(struct hk_job *job, Hk__Snapshot *ret_snapshot);

#endif
