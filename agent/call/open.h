/* open.h: which hooked calls a thread is inside of, when they do not end in the order they began.
 *
 * The usual call puts back what it found (hk_call_leave). Here is the rest: calls left by longjmp,
 * an exception or the end of a fiber, calls of several stacks that cross each other, and calls that
 * return on another thread. Only the HK_OPEN_CALLS innermost calls of a thread are known. All of
 * it by the calling thread, for itself.
 */
#ifndef HK_AGENT_CALL_OPEN_H
#define HK_AGENT_CALL_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/frame/call.h"
#include "agent/record/thread.h"

/* What OPEN held is no longer known. */
static inline void hk_open_unknown(struct hk_open_call *open)
{
	atomic_store_explicit(&open->site, HK_OPEN_UNKNOWN, memory_order_relaxed);
	atomic_store_explicit(&open->start_ticks, ~0ULL, memory_order_relaxed);
}

/* CALL begins: calls of THREAD at or below its frame on the same stack were left. One at the same
 * frame is open if it jumped to this one (kept.h). Sets what the next call finds. */
void hk_open_unwind_stale(struct hk_thread *thread, const struct hk_call *call);

/* Room to keep a call of THREAD that begins at FRAME without a frame (kept.h); false: none. Signals
 * are blocked. */
bool hk_open_make_room(struct hk_thread *thread, uint64_t frame);

/* A call begins at FRAME while foreign code is asked about another one: if a handler jumped out of
 * that code, the thread is no longer inside of it. */
void hk_open_end_query(uint64_t frame);

/* CALL returns on its thread and is not the innermost one that is open, or not known to be. True:
 * what is left is what CALL found, and can be put back; false: it is settled. */
bool hk_open_close(const struct hk_call *call);

/* THREAD ends: records the calls and ranges that it still has open. */
void hk_open_end(struct hk_thread *thread);

#endif
