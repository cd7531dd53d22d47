/* enter.h: the slow ways into a hooked call, for the assembly: something is missing.
 *
 * All are called with all registers saved.
 */
#ifndef HK_AGENT_CALL_ENTER_H
#define HK_AGENT_CALL_ENTER_H

#include "agent/frame/call.h"
#include "agent/frame/hot.h"

/* The thread has no state yet, or the site no cell for it, or the generation changed, or calls were
 * abandoned: makes what is missing. 1: try again, 0: pass the call through unmeasured. */
int hk_call_prepare(struct hk_call *call, struct hk_site_hot *site);

/* A call of spare thunk NUMBER for which something is missing: makes it, and counts the call. */
int hk_spare_count(void *number, void *unused);

/* A call of a site that is off, in a new generation. The arguments mean nothing. */
int hk_control_poll(void *unused, void *none);

#endif
