/* thread_pool.h: memory for the states of threads, of which a fork wipes a part.
 *
 * A sealed process (wrap/sandbox.h) takes no memory. The kernel wipes whole mappings, and a process
 * may have some 65,000 of them, so threads share mappings. All under the process lock.
 */
#ifndef HK_AGENT_RECORD_THREAD_POOL_H
#define HK_AGENT_RECORD_THREAD_POOL_H

#include "agent/record/thread.h"

/* Returns a zeroed thread's state, of which a fork wipes the first HK_THREAD_WIPED bytes, or NULL.
 */
struct hk_thread *hk_thread_pool_take(void);

/* Gives back THREAD, which must be the last one taken, and unchanged. */
void hk_thread_pool_return(struct hk_thread *thread);

#endif
