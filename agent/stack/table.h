/* table.h: the unwind table of a loaded object (.eh_frame_hdr and .eh_frame), read in place.
 *
 * Formats: Linux Standard Base 5.0, chapter 10.6, and DWARF 4, section 6.4. Reads lie between
 * `start` and `end`, or `index` and `index_end`, whatever the table says. No allocation, no locks,
 * no system calls; general registers only.
 */
#ifndef HK_AGENT_STACK_TABLE_H
#define HK_AGENT_STACK_TABLE_H

#include <stdint.h>

#include "agent/stack/row.h"
#include "agent/stack/rules.h"

struct hk_table {
	uintptr_t start, end; /* addresses of the segment that holds the entries, .eh_frame */
	uintptr_t index; /* of .eh_frame_hdr (PT_GNU_EH_FRAME), which may be in another segment */
	uintptr_t index_end; /* of that segment */
};

/* Returns the address of .eh_frame that .eh_frame_hdr names, or 0. Only `index` and `index_end` of
 * TABLE are set. */
uintptr_t hk_table_entries(const struct hk_table *table);

/* Returns the row for the instruction at ADDRESS. Its kind is HK_ROW_UNKNOWN if no entry covers
 * ADDRESS, or if the table is not understood. */
struct hk_row hk_table_row(const struct hk_table *table, uintptr_t address);

/* Returns where the function at ADDRESS has saved its caller's base register there. */
struct hk_base hk_table_base(const struct hk_table *table, uintptr_t address);

#endif
