/* call.h: one hooked call, in its thunk's frame.
 *
 * The trampoline writes it on entry and completes it on exit. It holds all values that restore the
 * thread's state, so the next exit or entry repairs the state after calls that exceptions or
 * longjmp abandoned.
 */
#ifndef HK_AGENT_FRAME_CALL_H
#define HK_AGENT_FRAME_CALL_H

#include <stdint.h>

#include "agent/record/layout.h"

struct hk_cell;
struct hk_site_hot;
struct hk_thread;

/* No call lasts a year: the clock went back. */
#define HK_CALL_ABSURD_NS 0x0080000000000000ULL

struct hk_call {
#if defined(__aarch64__)
	uint64_t integer[8]; /* x0 to x7 at entry */
	uint64_t indirect;   /* x8 at entry: where a large struct is returned */
	uint64_t result;     /* x0 at exit */
	uint64_t result2;    /* x1 at exit */
#else
	uint64_t integer[6]; /* rdi rsi rdx rcx r8 r9 at entry */
	uint64_t result;     /* rax: vector count at entry, result at exit */
	uint64_t result2;    /* rdx at exit */
#endif
	struct hk_thread *thread; /* NULL: this call is not measured */
	struct hk_cell *cell;
	struct hk_site_hot *site;
	uint64_t start_ticks;
	uint64_t scratch; /* of the assembly; on the way out, end_ticks */
	/* the thread's state before this call */
	uint64_t child_ns; /* time of hooked callees of the caller so far */
	uint64_t domains;  /* domains open around this call */
	uint64_t inner;	   /* frame of the call around this one, ~0: none */
	uint32_t depth;
#if defined(__aarch64__)
	uint32_t reserved; /* the frame stays a multiple of 16 bytes */
#else
	uint32_t reserved[3];
#endif
	/* what the thunk's frame holds above */
	uint64_t caller_frame; /* rbp or x29 */
	uint64_t return_address;
	uint64_t stack[]; /* stack arguments */
};

#endif
