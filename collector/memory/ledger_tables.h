/* ledger_tables.h: the parts of a ledger, for ledger.c and ledger_image.c alone. */
#ifndef HK_COLLECTOR_MEMORY_LEDGER_TABLES_H
#define HK_COLLECTOR_MEMORY_LEDGER_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/memory/accounts.h"
#include "collector/memory/blocks.h"
#include "collector/memory/events.h"
#include "collector/memory/ledger_options.h"
#include "collector/memory/ranges.h"

/* Tables of blocks. Blocks of the heap and of devices may have equal addresses: page-locked memory
 * is both. */
enum hk_ledger_pool { HK_POOL_HEAP = 0, HK_POOL_DEVICE = 1 };
#define HK_POOLS 2

/* The ledger's facts of a site, set at its first record. */
struct hk_ledger_site {
	bool known;
	uint8_t meaning; /* enum hk_meaning, NONE if not about memory */
	uint8_t pointer, size, old_pointer, old_size, device; /* payload words, 0xff: absent */
	enum hk_account_kind kind;
	uint32_t library;
};

struct hk_ledger {
	struct hk_ledger_options options;
	struct hk_blocks blocks[HK_POOLS];
	struct hk_ranges ranges;
	struct hk_events events;
	struct hk_accounts accounts;
	struct hk_ledger_site *sites; /* by id */
	uint32_t site_capacity;
	uint64_t lost;	    /* by the producer */
	uint64_t lost_here; /* no room in one of our tables */
	uint64_t unknown_frees;
	uint64_t now_ticks;
};

#endif
