/* rules.h: runs the instructions of an unwind entry up to one address, as DWARF's call frame
 * information says, and keeps what a row can hold: where the frame ends, and where the caller's
 * frame pointer and return address are. Of other registers it only says where the base register,
 * which few frames need, is saved. General registers only.
 */
#ifndef HK_AGENT_STACK_RULES_H
#define HK_AGENT_STACK_RULES_H

#include "agent/stack/bytes.h"
#include "agent/stack/row.h"

struct hk_entry {
	uintptr_t start; /* first address that it covers */
	uint64_t code_factor;
	int64_t data_factor;
	uint32_t return_column;
	uint8_t encoding; /* of addresses */
	bool signal;	  /* a frame of a signal handler */
	struct hk_bytes common, own;
};

/* Where a function has saved its caller's base register. */
enum hk_base_state {
	HK_BASE_UNCHANGED, /* it is still there */
	HK_BASE_SAVED,	   /* at CFA + offset */
	HK_BASE_OTHER,
};

struct hk_base {
	enum hk_base_state state;
	int64_t offset;
};

/* Returns the row for ADDRESS, which ENTRY covers. */
struct hk_row hk_rules_row(const struct hk_entry *entry, uintptr_t address);

/* Returns where the base register is saved at ADDRESS, which ENTRY covers. */
struct hk_base hk_rules_base(const struct hk_entry *entry, uintptr_t address);

#endif
