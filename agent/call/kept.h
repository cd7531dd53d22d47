/* kept.h: open calls without a frame on the stack, kept in an array of the thread.
 *
 * An undescribed function may take any number of bytes of arguments on the stack, and finds them
 * right above its return address. A frame in between would hide them. So the struct hk_call of such
 * a call is not in a frame, but an entry of its thread's array. The way in adds it, and the way out
 * takes it (trampoline_stay.S). `caller_frame` of an entry is the address that this field would
 * have in a frame. It identifies the open call; 0: free. Where a call returns to does not depend on
 * its entry: a call whose entry is lost is not measured. The thread itself adds entries. Another
 * thread may take one, when a fiber returns there.
 */
#ifndef HK_AGENT_CALL_KEPT_H
#define HK_AGENT_CALL_KEPT_H

#include <stdbool.h>

#include "agent/frame/call.h"

/* Takes the entry of the call whose frame is CALL, and fills CALL except for results and time.
 * Returns false if no thread has the entry. General registers only. */
bool hk_kept_take(struct hk_call *call);

/* Returns whether ADDRESS, to which a call returns, is in a place of trampoline_stay.S. Then a kept
 * call, which is still open at the same frame, ended in a jump to this call. */
bool hk_kept_is_return_place(uint64_t address);

/* What becomes of an open call, by its frame. */
enum hk_kept_fate {
	HK_KEPT_OPEN,  /* it returns */
	HK_KEPT_APART, /* it is on another stack, which may be gone */
	HK_KEPT_LEFT,  /* it never returns */
};

/* Makes room for one more entry. FATE, with the argument VIEW, finds the state of a frame. Frees
 * entries of calls that never return, and if that is not enough the older half of those on other
 * stacks. Returns false if all entries are open. Called with signals blocked. */
bool hk_kept_make_room(struct hk_thread *thread,
		       enum hk_kept_fate (*fate)(const void *view, uint64_t frame),
		       const void *view);

/* All calls of THREAD have ended. */
void hk_kept_forget(struct hk_thread *thread);

#endif
