/* memory_rows.h: writes a ledger into a process's message: rows, and live bytes over time. */
#ifndef HK_COLLECTOR_MEMORY_MEMORY_ROWS_H
#define HK_COLLECTOR_MEMORY_MEMORY_ROWS_H

#include "collector/memory/ledger.h"
#include "schema/wire.pb-c.h"

/* Bins in a part of a series. An unchanged part is not sent again. */
#define HK_MEMORY_PART_BINS 16u

/* Replaces `memory` and `memory_series` of STATE from LEDGER; each element is an allocation of its
 * own. Returns 0, or -ENOMEM, and the lists then hold a part. */
int hk_memory_refresh(Hk__Process *state, const struct hk_ledger *ledger);

#endif
