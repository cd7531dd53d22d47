/* job_snapshot.h: asks a collector for the snapshot of one job. Main thread only. */
#ifndef HK_CLI_JOB_JOB_SNAPSHOT_H
#define HK_CLI_JOB_JOB_SNAPSHOT_H

#include "cli/job/job.h"

/* Sets the KEYS by which later snapshots are requested with folded calls, HK_GROUP_* of
 * report/build/group.h; 0: whole. Folded calls suffice for screens of many ranks. Directories are
 * read whole. */
void hk_job_snapshot_rollup(unsigned keys);

/* Asks the collector at URL (NULL: -ECONNREFUSED) for job ID, "": its newest. Returns 0, -ENOENT if
 * it has no such job, -ENOTUNIQ, or the errors of hk_client_call. The caller frees *RET_RESPONSE,
 * which may be set on failure too. */
int hk_job_snapshot_request(const char *url, const char *id, Hk__Response **ret_response);

/* Does the same for the job and with the options in WHAT. */
int hk_job_snapshot_request_as(const char *url, Hk__SnapshotRequest *what,
			       Hk__Response **ret_response);

/* Moves the snapshot of RESPONSE, from the collector at URL, to JOB. */
void hk_job_snapshot_take(struct hk_job *job, Hk__Response *response, const char *url);

#endif
