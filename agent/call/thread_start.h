/* thread_start.h: makes a thread's state at its first hooked call, and ends it. */
#ifndef HK_AGENT_CALL_THREAD_START_H
#define HK_AGENT_CALL_THREAD_START_H

#include "agent/record/thread.h"

/* Finds the host's thread functions; once, before the first hooked call. */
void hk_thread_setup(void);

/* Returns the state of the calling thread. Makes it or takes over an unused one. Returns NULL
 * without memory, or if that is impossible now. Slow. */
struct hk_thread *hk_thread_enter(void);

/* Takes their segment from all threads, which may be running, because it is being closed. Their
 * next call enters again. Under the process lock. */
void hk_thread_retire_all(void);

#endif
