/* loop.h: the collector's one thread: waits for segments, ends of processes, requests, signals and
 * the next pass. */
#ifndef HK_COLLECTOR_LOOP_H
#define HK_COLLECTOR_LOOP_H

struct hk_collector;

/* Runs until SIGTERM or SIGINT comes through SIGNAL_FD, and then drains and saves all jobs. With
 * options.exit_with_job it runs until the job is closed. Returns 0 or -errno. */
int hk_loop_run(struct hk_collector *collector, int signal_fd);

#endif
