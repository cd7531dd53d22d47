/* row.h: how to get from a frame to the one that called it: one row of an object's unwind table,
 * for one code address, in 8 bytes. */
#ifndef HK_AGENT_STACK_ROW_H
#define HK_AGENT_STACK_ROW_H

#include <assert.h>
#include <stdint.h>

/* Where the frame ends (DWARF's canonical frame address, CFA). */
enum hk_row_kind {
	HK_ROW_UNKNOWN = 0,    /* there is no unwind information for this address */
	HK_ROW_STACK = 1,      /* stack pointer + cfa */
	HK_ROW_FRAME = 2,      /* frame pointer + cfa */
	HK_ROW_REALIGNED = 3,  /* the word at frame pointer + cfa; the saved frame pointer lies at
				  frame pointer + fp */
	HK_ROW_SIGNAL = 4,     /* a signal handler returns here: the kernel saved all registers */
	HK_ROW_OUTERMOST = 5,  /* the first function of its thread */
	HK_ROW_COMPLEX = 6,    /* a rule that a row cannot hold */
	HK_ROW_KEPT = 7,       /* 8 bytes above the word at stack pointer + cfa */
	HK_ROW_BASE = 8,       /* base register (rbx) + cfa */
	HK_ROW_BASE_FRAME = 9, /* the same; the saved frame pointer lies at frame pointer + fp */
};

#define HK_ROW_UNCHANGED INT16_MIN  /* fp: the caller's frame pointer is still in its register */
#define HK_ROW_IN_REGISTER INT8_MIN /* ra: the return address is in the link register (aarch64) */

struct hk_row {
	int32_t cfa; /* bytes */
	int16_t fp;  /* where the caller's frame pointer is saved: CFA + 8 * fp, or UNCHANGED */
	int8_t ra;   /* where the return address is: CFA + 8 * ra, or IN_REGISTER */
	uint8_t kind;
};
static_assert(sizeof(struct hk_row) == 8, "one word of the cache");

#endif
