/* ledger_options.h: what a ledger is made with. Types only: ledger.h and ledger_tables.h share
 * them.
 */
#ifndef HK_COLLECTOR_MEMORY_LEDGER_OPTIONS_H
#define HK_COLLECTOR_MEMORY_LEDGER_OPTIONS_H

#include <stdint.h>

#include "chunk/codec/format.h"

struct hk_ledger_options {
	double ticks_per_ns;
	/* Copies the definition of site ID into *RET_SITE; its strings are copied before the next
	 * call. -errno: the site is unknown, and the record is skipped. */
	int (*site)(void *context, uint32_t id, struct hk_chunk_site *ret_site);
	void *context;
};

#endif
