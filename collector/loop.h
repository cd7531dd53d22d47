/* loop.h: the collector's one thread: waits for segments, deaths, requests, signals and the next
 * pass. */
#ifndef HK_COLLECTOR_LOOP_H
#define HK_COLLECTOR_LOOP_H

struct hk_collector;

/* Runs until SIGTERM or SIGINT comes through SIGNAL_FD (everything is then drained and saved), or,
 * with options.exit_with_job, until the job is closed. 0 or -errno. */
int hk_loop_run(struct hk_collector *collector, int signal_fd);

#endif
