/* collector_start.h: starts hookcollector as a daemon that serves one run directory and keeps one
 * job. Main thread only, before any other child is waited for. */
#ifndef HK_CLI_RUN_COLLECTOR_START_H
#define HK_CLI_RUN_COLLECTOR_START_H

#include <limits.h>
#include <stdbool.h>

/* Name of the collector's log in the run directory. */
#define HK_COLLECTOR_START_LOG "collector.log"

struct hk_collector_start_options {
	const char *id;	       /* of the job */
	const char *directory; /* the job's, absolute */
	const char *upstream;  /* URL of the root whose leaf it is, or NULL */
	const char *keep;      /* what it keeps of the job's records, or NULL */
	bool per_node; /* the collector makes a directory of its node's in `directory`, or in that
			  with a number added */
};

/* Bytes of a reason why there is no collector, with what to do about it. */
#define HK_COLLECTOR_WHY_BYTES 1024

/* Starts a collector for the run directory at `run_directory`, opened as `dirfd`. The collector
 * ends with the job. Waits until it answers, and kills it if it neither answers nor runs for
 * 2 s, or does not answer in 20 s. Returns 0, or -errno with the reason in WHY. */
int hk_collector_start(const char *run_directory, int dirfd,
		       const struct hk_collector_start_options *options,
		       char why[HK_COLLECTOR_WHY_BYTES]);

#endif
