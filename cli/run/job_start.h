/* job_start.h: a job for a process that runs already, which hookcli does not start and does not
 * wait for. The collector closes the job after the process has ended. Main thread only. */
#ifndef HK_CLI_RUN_JOB_START_H
#define HK_CLI_RUN_JOB_START_H

#include <limits.h>

#include "cli/run/collector_start.h"

struct hk_job_start {
	char run_directory[PATH_MAX]; /* of the collector */
	char id[128];		      /* as the processes name the job */
	char shown[PATH_MAX];	      /* the job's directory as the user should type it, or "" */
	char why[HK_COLLECTOR_WHY_BYTES]; /* error of the last call, with its fix */
};

/* Finds or starts a collector, as `hookcli run` does, and opens the job of process PID. The
 * settings `store`, `job`, `upstream` and `keep` hold. A rank of a launcher opens the job of all
 * ranks: the collector then closes it when all of them have ended. Within a job of `hookcli run`
 * that job is the process's. Returns 0, or -errno with the reason in `why`. */
int hk_job_start(int pid, struct hk_job_start *start);

#endif
