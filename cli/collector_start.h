/* collector_start.h: starts hookcollector as a daemon of its own that serves one run directory and
 * keeps one job. Main thread only, before any other child is waited for.
 */
#ifndef HK_COLLECTOR_START_H
#define HK_COLLECTOR_START_H

/* Name of the file in the run directory that takes what the collector says. */
#define HK_COLLECTOR_START_LOG "collector.log"

/* Starts a collector for the run directory at `run_directory`, opened as `dirfd`, with job `id` in
 * `directory`; it ends with the job. Returns when it answers. 0, or -errno after a line on stderr.
 */
int hk_collector_start(const char *run_directory, int dirfd, const char *id, const char *directory);

#endif
