/* enter.h: the slow ways into a hooked call, for the assembly, if a part of the state is missing.
 *
 * All are called with all registers saved.
 */
#ifndef HK_AGENT_CALL_ENTER_H
#define HK_AGENT_CALL_ENTER_H

#include "agent/frame/call.h"
#include "agent/frame/hot.h"

/* Prepares a call if the thread has no state yet, if the site has no cell for it, if the generation
 * changed, or if calls were abandoned. Returns 1 to try again, or 0 to pass the call through
 * unmeasured. */
int hk_call_prepare(struct hk_call *call, struct hk_site_hot *site);

/* Makes the missing state for a call of spare thunk NUMBER, and counts the call. */
int hk_spare_count(void *number, void *unused);

/* Handles a call of a site that is off, in a new generation. The arguments are unused. */
int hk_control_poll(void *unused, void *none);

#endif
