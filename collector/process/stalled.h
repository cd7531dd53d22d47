/* stalled.h: looks for connections of a quiet process over which nothing gets through. */
#ifndef HK_COLLECTOR_PROCESS_STALLED_H
#define HK_COLLECTOR_PROCESS_STALLED_H

#include <stdint.h>

struct hk_collector;
struct hk_process;

/* Updates `stalled` and `addresses` of the state of a main PROCESS that has been quiet for two
 * seconds (activity.h), and clears `stalled` when it is not. A process of another pid namespace is
 * left out. NOW_NS is monotonic. At most once a second for each process, and for at most 1/100 of a
 * processor's time for all. */
void hk_stalled_look(struct hk_collector *collector, struct hk_process *process, uint64_t now_ns);

#endif
