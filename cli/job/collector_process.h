/* collector_process.h: the collector's program, and whether the process of a collector on this node
 * runs at all, when it does not answer. No state, any thread. */
#ifndef HK_CLI_JOB_COLLECTOR_PROCESS_H
#define HK_CLI_JOB_COLLECTOR_PROCESS_H

#include <limits.h>
#include <stdint.h>

/* Sets PATH to the program's path: beside hookcli, or where a build puts it. Returns 0 or -ENOENT.
 */
int hk_collector_find(char path[PATH_MAX]);

/* Returns the nanoseconds of processor time that the main thread of the collector of run directory
 * DIRFD has used, 0: unknown. */
uint64_t hk_collector_process_ran_ns(int dirfd);

/* Time within which a stopped collector may be continued. */
#define HK_COLLECTOR_PROCESS_PATIENCE_NS UINT64_C(2000000000)

/* Returns the process id of the collector of run directory DIRFD if it is stopped (SIGSTOP) and
 * stays so for PATIENCE_NS. Returns 0 as soon as it is not stopped. */
int hk_collector_process_stopped(int dirfd, uint64_t patience_ns);

/* Does the same for the collector at URL. Also returns 0 for one on another node. */
int hk_collector_process_stopped_at(const char *url, uint64_t patience_ns);

#endif
