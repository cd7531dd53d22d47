/* job_snapshot.h: what a collector says of one job. Main thread only. */
#ifndef HK_JOB_SNAPSHOT_H
#define HK_JOB_SNAPSHOT_H

#include "job.h"

#define HK_JOB_ASK_TIMEOUT_MS 10000

/* FOLD: from now on collectors are asked for jobs folded by function (report/fold.h), which is all
 * that a screen of many ranks needs. Directories are read whole. */
void hk_job_snapshot_fold(bool fold);

/* Asks the collector at URL (NULL: -ECONNREFUSED) for job ID, "": its newest. 0: it is in
 * *RET_RESPONSE, the caller's to free, which may be set on failure too; -ENOENT: it has no such
 * job; -ENOTUNIQ; what hk_call says. */
int hk_job_snapshot_ask(const char *url, const char *id, Hk__Response **ret_response);

/* Takes the snapshot out of RESPONSE of the collector at URL. */
void hk_job_snapshot_take(struct hk_job *job, Hk__Response *response, const char *url);

#endif
