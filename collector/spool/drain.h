/* drain.h: copies records out of segments and seals them into chunks before the process runs out of
 * pages. */
#ifndef HK_COLLECTOR_SPOOL_DRAIN_H
#define HK_COLLECTOR_SPOOL_DRAIN_H

#include <stdint.h>

struct hk_collector;
struct hk_process;

/* Checks the committed records of PROCESS. Seals them if they fill a chunk, if the oldest is a
 * second old, or if its pages run short. Returns 1 if PROCESS writes so much that the next pass
 * should come soon, else 0, -ESTALE if its segment is damaged, or another -errno of sealing. */
int hk_drain_pass(struct hk_collector *collector, struct hk_process *process, uint64_t now_ns);

/* Seals all records that are committed now, gives the pages back, and advances the ledger as far as
 * possible. */
int hk_drain_seal(struct hk_collector *collector, struct hk_process *process);

#endif
