/* replay.h: shows a ledger the records that a chunk file already holds, as after a restart of the
 * collector. */
#ifndef HK_COLLECTOR_REPLAY_H
#define HK_COLLECTOR_REPLAY_H

#include "collector/ledger.h"

/* Adds every record of the chunk file FD, in memory that does not grow with the file. Damaged parts
 * are left out. -ENOMEM; -errno of reading. */
int hk_replay_file(struct hk_ledger *ledger, int fd);

#endif
