/* job.h: the job that a command works on. Main thread only. */
#ifndef HK_CLI_JOB_JOB_H
#define HK_CLI_JOB_JOB_H

#include <limits.h>
#include <stdbool.h>

#include "wire/request.h"

/* Prefix of jobs, or of links to jobs, in the directories where their commands ran; and the link to
 * the newest job. */
#define HK_JOB_HERE "hook-"
#define HK_JOB_LAST "hook-last"

struct hk_job {
	Hk__Snapshot *snapshot;	  /* never NULL after a successful open, and its `job` is set */
	char directory[PATH_MAX]; /* directory of the job's files */
	char url[HK_REQUEST_URL_BYTES]; /* URL of its collector; empty: loaded from a directory */
	bool live;	/* the snapshot is from collectors that still follow the job */
	bool shared;	/* its nodes have a directory each; `url`, if any, is that of one node's
			   collector */
	bool elsewhere; /* a root on another machine keeps it and has its files */
	bool damaged;	/* a part was unreadable: show the rest, exit with HK_EXIT_FAILED */
};

/* Frees the job's memory. */
void hk_job_close(struct hk_job *job);

#endif
