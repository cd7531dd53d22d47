/* table.h: the unwind table of a loaded object (.eh_frame_hdr and .eh_frame), read in place.
 *
 * Formats: Linux Standard Base 5.0, chapter 10.6, and DWARF 4, section 6.4. Reads lie between
 * `start` and `end`, whatever the table says. No allocation, no locks, no system calls; general
 * registers only.
 */
#ifndef HK_AGENT_STACK_TABLE_H
#define HK_AGENT_STACK_TABLE_H

#include <stdint.h>

#include "agent/stack/row.h"

struct hk_table {
	uintptr_t start, end; /* addresses of the segment that holds the table */
	uintptr_t index;      /* of .eh_frame_hdr (PT_GNU_EH_FRAME) */
};

/* Returns the row for the instruction at ADDRESS. Its kind is HK_ROW_UNKNOWN if no entry covers
 * ADDRESS, or if the table is not understood. */
struct hk_row hk_table_row(const struct hk_table *table, uintptr_t address);

#endif
