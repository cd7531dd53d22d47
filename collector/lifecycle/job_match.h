/* job_match.h: matches the collectives of a job's ranks while it runs, on the collector that keeps
 * the job. One thread.
 */
#ifndef HK_COLLECTOR_LIFECYCLE_JOB_MATCH_H
#define HK_COLLECTOR_LIFECYCLE_JOB_MATCH_H

#include "schema/wire.pb-c.h"

struct hk_job;
struct hk_process;

/* Most calls of a process that are taken at once. */
#define HK_JOB_MATCH_CALLS 4096u

/* Matches the calls of PROCESS of JOB in MESSAGE. Returns 0, -EBADMSG or -ENOMEM. */
int hk_job_match(struct hk_job *job, const struct hk_process *process, const Hk__Arrivals *message);

/* Matches what this node's processes of JOB have done, and brings JOB's `waits` up to date. A
 * leaf's job is left to the root. */
void hk_job_match_all(struct hk_job *job);

#endif
