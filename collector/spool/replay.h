/* replay.h: feeds a ledger with the records of a chunk file, after a restart of the collector. */
#ifndef HK_COLLECTOR_SPOOL_REPLAY_H
#define HK_COLLECTOR_SPOOL_REPLAY_H

#include <stdint.h>

#include "collector/memory/ledger.h"

/* Adds every record of the chunks of file FD after number AFTER (0: of all chunks). Memory does not
 * grow with the file. The newest records wait until hk_ledger_advance. Damaged parts are skipped.
 * Sets *RET_MISSING to the number of evicted records of those chunks. Returns 0, -ENOMEM, or -errno
 * of reading. */
int hk_replay_file(struct hk_ledger *ledger, int fd, uint64_t after, uint64_t *ret_missing);

#endif
