/* job.h: the job that a command is about. Main thread only. */
#ifndef HK_CLI_JOB_JOB_H
#define HK_CLI_JOB_JOB_H

#include <limits.h>
#include <stdbool.h>

#include "wire/request.h"

/* Names of jobs, or of links to jobs, where their commands ran; the second is the newest job. */
#define HK_JOB_HERE "hook-"
#define HK_JOB_LAST "hook-last"

struct hk_job {
	Hk__Snapshot *snapshot;	  /* after a successful open never NULL, and `job` in it is set */
	char directory[PATH_MAX]; /* of the job's files */
	char url[HK_REQUEST_URL_BYTES]; /* of the collector it came from; empty: a directory */
	bool live;	/* the snapshot is of collectors that still follow the job */
	bool shared;	/* its nodes have a directory each: `url`, if any, is that of one node's */
	bool elsewhere; /* a root on another machine keeps it: its files are there */
	bool damaged;	/* something could not be read: show the rest, leave with HK_EXIT_FAILED */
};

/* Frees what JOB holds. */
void hk_job_close(struct hk_job *job);

#endif
