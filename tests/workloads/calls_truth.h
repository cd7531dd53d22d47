/*
 * The library and the plugin of calls_truth. calls_outer and calls_inner are called through their
 * slots, so a pattern such as
 * "*:calls_*" sees nested calls: outer (from the program) calls inner (from the library) calls
 * nanosleep (from the library).
 */
#ifndef HK_WORKLOADS_CALLS_TRUTH_H
#define HK_WORKLOADS_CALLS_TRUTH_H

#include "truth.h"

#define CALLS_TRUTH_PUBLIC __attribute__((visibility("default")))

/* Calls calls_inner(pause_ns) `inner` times. */
CALLS_TRUTH_PUBLIC int calls_outer(int inner, long pause_ns);
/* Sleeps once; 0 ns: not at all. */
CALLS_TRUTH_PUBLIC int calls_inner(long pause_ns);
/* Calls itself through its slot until depth is 0. */
CALLS_TRUTH_PUBLIC int calls_recurse(int depth);
/* Reads one byte from fd, for as long as that takes. */
CALLS_TRUTH_PUBLIC int calls_block(int fd);
CALLS_TRUTH_PUBLIC const struct truth_table *calls_truth_library_table(void);

/* Plugin, found by dlsym: malloc and free `count` times each. */
typedef void calls_truth_plugin_run_fn(int count);
CALLS_TRUTH_PUBLIC calls_truth_plugin_run_fn calls_truth_plugin_run;

#endif
