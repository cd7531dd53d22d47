/* thread_pool.h: memory of which a fork wipes a part, so that a child knows itself for one.
 *
 * Taken by mmap from the kernel, none in a sealed process (record/sandbox.h). The kernel wipes
 * whole mappings, and a process may have some 65,000 of them: threads share theirs.
 */
#ifndef HK_AGENT_RECORD_THREAD_POOL_H
#define HK_AGENT_RECORD_THREAD_POOL_H

#include <stdint.h>

struct hk_thread;

/* BYTES that a fork wipes, or NULL. */
void *hk_memory_private(uint64_t bytes);

/* A thread's state, zeroed, of which a fork wipes the first HK_THREAD_WIPED bytes; or NULL. Under
 * the process lock. */
struct hk_thread *hk_memory_take_thread(void);

/* THREAD was the last one taken, and nothing was written to it. Under the process lock. */
void hk_memory_return_thread(struct hk_thread *thread);

#endif
