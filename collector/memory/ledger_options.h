/* ledger_options.h: the options of a ledger. Types only: ledger.h and ledger_tables.h share them.
 */
#ifndef HK_COLLECTOR_MEMORY_LEDGER_OPTIONS_H
#define HK_COLLECTOR_MEMORY_LEDGER_OPTIONS_H

#include <stdint.h>

#include "chunk/codec/format.h"

struct hk_ledger_options {
	double ticks_per_ns;
	/* Copies the definition of site ID into *RET_SITE. Its strings are valid until the next
	 * call. Returns 0, or -errno if the site is unknown: the record is then skipped. */
	int (*site)(void *context, uint32_t id, struct hk_chunk_site *ret_site);
	void *context;
};

#endif
