/* plain_call.h: calls of sites without a thunk, which begin and end by calls of the agent.
 *
 * The function that begins a call may return before the function that ends it is called, and calls
 * of hooked functions may have frames above and below both. So no address tells whether a plain
 * call was left. Plain calls end in the reverse order of their beginnings, on the thread on which
 * they began. The end of an outer one ends what began inside of it. General registers only.
 */
#ifndef HK_AGENT_CALL_PLAIN_CALL_H
#define HK_AGENT_CALL_PLAIN_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/frame/hot.h"
#include "agent/record/thread.h"

struct hk_open; /* hooktrace.h */

/* What programs call, as hooktrace.h has it: the same for the plain site at index SITE. A call of
 * no site is counted as untracked. */
void hk_enter(struct hk_open *open, uint32_t site);
void hk_leave(struct hk_open *open, int failed);

/* Returns whether the plain site at index SITE is on now, also by a new generation. */
bool hk_plain_call_is_on(uint32_t site);

/* Begins a range of SITE on this thread. It is counted, timed and recorded like a call, but is no
 * open call: it may end inside of another call than it began in, which does not end it. Sets the
 * range's thread to NULL if it is not measured. */
void hk_plain_call_begin_range(struct hk_plain_call *range, struct hk_site_hot *site);

/* Ends RANGE, the innermost one. Safe if it is not measured. */
void hk_plain_call_end_range(struct hk_plain_call *range);

/* Ends RANGE, in which others are still open. */
void hk_plain_call_end_apart(struct hk_plain_call *range);

#endif
