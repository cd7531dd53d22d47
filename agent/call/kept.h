/* kept.h: open calls without a frame on the stack, which are kept beside it.
 *
 * An undescribed function may take any number of bytes of arguments on the stack. It finds them
 * only above its return address: a frame between would hide them. What a frame holds of such a
 * call, struct hk_call, is an entry of its thread's array; the way in adds it, the way out takes it
 * (trampoline_stay.S). `caller_frame` of an entry is the address where that field would lie in a
 * frame, by which a call is known while it is open; 0: free. Where a call returns to does not
 * depend on its entry: one whose entry is lost is not measured.
 * The thread itself adds entries. Another thread may take one, when a fiber returns there.
 */
#ifndef HK_AGENT_CALL_KEPT_H
#define HK_AGENT_CALL_KEPT_H

#include <stdbool.h>

#include "agent/frame/call.h"

/* Takes the entry of the call whose frame CALL now is, and fills CALL but for its results and its
 * time. False: no thread has one. General registers only. */
bool hk_kept_take(struct hk_call *call);

/* Whether a call that returns to ADDRESS returns into a place of trampoline_stay.S. It was then
 * begun by a jump at the end of a kept call, which is still open at the same frame. */
bool hk_kept_is_return_place(uint64_t address);

/* What becomes of an open call, by its frame. */
enum hk_kept_fate {
	HK_KEPT_OPEN,  /* it returns */
	HK_KEPT_APART, /* it is on another stack, which may be gone */
	HK_KEPT_LEFT,  /* it never returns */
};

/* Makes room for one more entry. FATE tells of a frame, VIEW is its argument. Entries of calls that
 * never return are given up, and where that is not enough the older half of those apart. False: all
 * the others are open. Called with signals blocked. */
bool hk_kept_make_room(struct hk_thread *thread,
		       enum hk_kept_fate (*fate)(const void *view, uint64_t frame),
		       const void *view);

/* All calls of THREAD have ended. */
void hk_kept_forget(struct hk_thread *thread);

#endif
