/* replay.h: shows a ledger the records that a chunk file already holds, as after a restart of the
 * collector. */
#ifndef HK_COLLECTOR_SPOOL_REPLAY_H
#define HK_COLLECTOR_SPOOL_REPLAY_H

#include <stdint.h>

#include "collector/memory/ledger.h"

/* Adds every record of the chunks of file FD after number AFTER (0: of all), in memory that does
 * not grow with the file; the newest wait until hk_ledger_advance. Damaged parts are left out.
 * *RET_MISSING: records those chunks had, and have no more. -ENOMEM; -errno of reading. */
int hk_replay_file(struct hk_ledger *ledger, int fd, uint64_t after, uint64_t *ret_missing);

#endif
