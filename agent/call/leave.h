/* leave.h: one hooked call in progress: the struct the trampoline builds on the host's stack, and
 * what is done on the way out.
 *
 * Written by the trampoline on entry, finished by hk_call_leave on exit. The call carries
 * everything needed to put the thread's state back as it was, so calls abandoned by exceptions or
 * longjmp heal at the next exit or entry.
 */
#ifndef HK_AGENT_CALL_LEAVE_H
#define HK_AGENT_CALL_LEAVE_H

#include <stdint.h>

#include "agent/record/layout.h"
#include "ring/segment.h"

struct hk_range;
struct hk_thread;
struct hk_site_hot;

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

/* What a function leaves in its two result registers. */
struct hk_result {
	uint64_t result, result2;
};

/* Statistics and record of a call that ended at END_TICKS; gives back the call's results, which are
 * where its caller looks for them. Runs on every hooked call: general registers only. */
struct hk_result hk_call_leave(struct hk_call *call, uint64_t end_ticks);

/* The same for a call that lasted NS and is to be counted in BUCKET, and that hk_call_leave found
 * nothing in the way of but values or a rule of errors. */
struct hk_result hk_call_leave_described(struct hk_call *call, uint64_t ns, uint64_t *bucket);

/* The thread has no state yet, or the site no cell for it, or the generation changed, or calls were
 * abandoned: makes what is missing. 1: try again, 0: pass the call through unmeasured. Called with
 * all registers saved. */
int hk_call_prepare(struct hk_call *call, struct hk_site_hot *site);

/* For what is counted and recorded like a call without being one (annotate.h). CALL is ready:
 * thread, cell, site, depth and start are set. Begins a range, which RANGE is to remember; ends it;
 * notes an instant with the value of its site's key, if it has one. */
void hk_call_begin_range(struct hk_call *call, struct hk_range *range);
void hk_call_end_range(struct hk_thread *thread, const struct hk_range *range);
void hk_call_note_instant(struct hk_call *call, const uint64_t *value);

/* Adds the duration NS of CALL, which returned, to the books of THREAD and records it. */
void hk_call_measure(struct hk_thread *thread, struct hk_call *call, uint64_t ns);

/* OPEN, of THREAD, will never return: gives it its record, and its slot back to us. */
void hk_call_left(struct hk_thread *thread, const struct hk_open_call *open);

#endif
