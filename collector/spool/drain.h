/* drain.h: copies records out of segments and seals them into chunks before the process runs out of
 * pages. */
#ifndef HK_COLLECTOR_SPOOL_DRAIN_H
#define HK_COLLECTOR_SPOOL_DRAIN_H

#include <stdint.h>

struct hk_collector;
struct hk_process;

/* Looks at what PROCESS has written and seals when there is a chunk's worth, when the oldest is a
 * second old, or when its pages run short. 1: it writes so much that the next pass should come
 * soon; 0: not so; -ESTALE: its segment is broken; other -errno of sealing. */
int hk_drain_pass(struct hk_collector *collector, struct hk_process *process, uint64_t now_ns);

/* Seals whatever is committed now, gives the pages back, brings the ledger as far as it can be
 * brought. */
int hk_drain_seal(struct hk_collector *collector, struct hk_process *process);

#endif
