/* thread_start.h: the start of a thread's state with its first hooked call, and its end. */
#ifndef HK_AGENT_CALL_THREAD_START_H
#define HK_AGENT_CALL_THREAD_START_H

#include "agent/record/thread.h"

/* Finds the host's thread functions; once, before the first hooked call. */
void hk_thread_setup(void);

/* State for the calling thread, made or taken over if need be; NULL: no memory, or not now. Slow.
 */
struct hk_thread *hk_thread_enter(void);

#endif
