/* collector_process.h: the process of a collector on this node, as the kernel shows it: whether it
 * runs at all, when it does not answer. No state, any thread.
 */
#ifndef HK_CLI_JOB_COLLECTOR_PROCESS_H
#define HK_CLI_JOB_COLLECTOR_PROCESS_H

#include <stdint.h>

/* Nanoseconds of processor time that the main thread of the collector of run directory DIRFD has
 * had, 0: unknown. */
uint64_t hk_collector_process_ran_ns(int dirfd);

/* How long a collector that is stopped may take to be continued. */
#define HK_COLLECTOR_PROCESS_PATIENCE_NS UINT64_C(2000000000)

/* Process id of the collector of run directory DIRFD if it is stopped (SIGSTOP), and stays so for
 * PATIENCE_NS; else 0, mostly at once. */
int hk_collector_process_stopped(int dirfd, uint64_t patience_ns);

/* The same of the collector at URL; 0 also where that is on another node. */
int hk_collector_process_stopped_at(const char *url, uint64_t patience_ns);

#endif
