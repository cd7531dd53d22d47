/* memory_rows.h: what a ledger knows as parts of a process's message: rows, and live bytes over
 * time.
 */
#ifndef HK_COLLECTOR_MEMORY_MEMORY_ROWS_H
#define HK_COLLECTOR_MEMORY_MEMORY_ROWS_H

#include "collector/memory/ledger.h"
#include "schema/wire.pb-c.h"

/* Bins in a part of a series. A part that has not changed need not be told again. */
#define HK_MEMORY_PART_BINS 16u

/* Makes `memory` and `memory_series` of STATE anew, of single allocations. -ENOMEM: they hold a
 * part of it. */
int hk_memory_refresh(Hk__Process *state, const struct hk_ledger *ledger);

#endif
