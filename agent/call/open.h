/* open.h: the open hooked calls of a thread, when they do not end in the reverse order of their
 * beginnings.
 *
 * The usual call restores the thread's state itself (hk_call_leave). This module handles the
 * others: calls left by longjmp, an exception or the end of a fiber, calls on several stacks that
 * end in any order, and calls that return on another thread. Only the HK_OPEN_CALLS innermost calls
 * of a thread are known. A thread calls these functions for itself only.
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

/* Called when CALL begins: calls of THREAD at or below its frame on the same stack were left. A
 * call at the same frame is open if it jumped to this one (kept.h). Sets the state for the next
 * call. */
void hk_open_unwind_stale(struct hk_thread *thread, const struct hk_call *call);

/* Makes room to keep a call of THREAD that begins at FRAME without a frame (kept.h). Returns false
 * if there is none. Signals are blocked. */
bool hk_open_make_room(struct hk_thread *thread, uint64_t frame);

/* Called when a call begins at FRAME while the thread calls a host's library about another call: if
 * a handler jumped out of that library, the thread is no longer inside of it. */
void hk_open_end_query(uint64_t frame);

/* Closes CALL, which returns on its thread and is not known to be its innermost open call. Returns
 * true if the caller must restore the state that CALL found, or false if that is done. */
bool hk_open_close(const struct hk_call *call);

/* Closes the plain call of THREAD that began at START_TICKS as call number *DEPTH, and ends what
 * began after it and was never left. Sets *DEPTH to the calls that are open around it. Returns
 * false if it is not known as open any more: the thread's state is then that of other calls. */
bool hk_open_close_plain(struct hk_thread *thread, uint64_t start_ticks, uint32_t *depth);

/* Records the calls and ranges that THREAD, which ends, still has open. */
void hk_open_end(struct hk_thread *thread);

#endif
