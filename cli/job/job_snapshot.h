/* job_snapshot.h: what a collector says of one job. Main thread only. */
#ifndef HK_CLI_JOB_JOB_SNAPSHOT_H
#define HK_CLI_JOB_JOB_SNAPSHOT_H

#include "cli/job/job.h"

/* KEYS: from now on collectors are asked for jobs whose calls are folded by these, HK_GROUP_* of
 * report/group.h, which is all that a screen of many ranks needs; 0: whole. Directories are read
 * whole. */
void hk_job_snapshot_rollup(unsigned keys);

/* Asks the collector at URL (NULL: -ECONNREFUSED) for job ID, "": its newest. 0: it is in
 * *RET_RESPONSE, the caller's to free, which may be set on failure too; -ENOENT: it has no such
 * job; -ENOTUNIQ; what hk_client_call says. */
int hk_job_snapshot_ask(const char *url, const char *id, Hk__Response **ret_response);

/* The same, as REQUEST wants it. */
int hk_job_snapshot_ask_as(const char *url, Hk__SnapshotRequest *what, Hk__Response **ret_response);

/* Takes the snapshot out of RESPONSE of the collector at URL. */
void hk_job_snapshot_take(struct hk_job *job, Hk__Response *response, const char *url);

#endif
