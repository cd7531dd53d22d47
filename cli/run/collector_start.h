/* collector_start.h: starts hookcollector as a daemon of its own that serves one run directory and
 * keeps one job. Main thread only, before any other child is waited for. */
#ifndef HK_CLI_RUN_COLLECTOR_START_H
#define HK_CLI_RUN_COLLECTOR_START_H

#include <limits.h>
#include <stdbool.h>

/* Name of the file in the run directory that takes what the collector says. */
#define HK_COLLECTOR_START_LOG "collector.log"

struct hk_collector_start_options {
	const char *id;	       /* of the job */
	const char *directory; /* the job's, absolute */
	const char *upstream;  /* URL of the root whose leaf it is, or NULL */
	const char *keep;      /* what it keeps of the job's records, or NULL */
	bool per_node; /* the collector makes a directory of its node's in `directory`, or in that
			  with a number added */
};

/* The program's path: beside hookcli, or where a build puts it. -ENOENT. */
int hk_collector_find(char path[PATH_MAX]);

/* Bytes of a reason why there is no collector, with what to do about it. */
#define HK_COLLECTOR_WHY_BYTES 1024

/* Starts a collector for the run directory at `run_directory`, opened as `dirfd`; it ends with the
 * job. Returns when it answers; one that neither answers nor runs for 2 s, or does not answer in
 * 20 s, is killed. 0, or -errno and the reason in WHY. */
int hk_collector_start(const char *run_directory, int dirfd,
		       const struct hk_collector_start_options *wish,
		       char why[HK_COLLECTOR_WHY_BYTES]);

#endif
