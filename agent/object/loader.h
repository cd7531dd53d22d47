/* loader.h: looks at the loaded objects without waiting for a thread that may wait for the agent.
 *
 * dl_iterate_phdr takes a lock of the loader's. A thread that holds it may run a callback of the
 * host that waits for a mutex, and the hooked call may be made under that mutex. A child forked
 * meanwhile has the lock held by a thread that it does not have. So the agent finds the lock in the
 * loader's memory, by its counter while the agent holds it, and tries it without waiting.
 */
#ifndef HK_AGENT_OBJECT_LOADER_H
#define HK_AGENT_OBJECT_LOADER_H

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Before any other thread can be there. */
void hk_loader_setup(void);

/* Looks for the lock if it is unknown. Called within a callback of dl_iterate_phdr. */
void hk_loader_find_lock(void);

/* As dl_iterate_phdr. Returns -EBUSY without a call if another thread has the lock, if this thread
 * is changing the list, or if the process is a sandbox. It is never busy inside of another call of
 * these functions. */
int hk_loader_try(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data);

/* The same for calls of the loader's own functions, in which a wait is safe. */
int hk_loader_iterate(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data);

/* Rises, without the lock, when objects may have been unloaded: addresses found in them must no
 * longer be used. An object that an unseen call closed counts at the next scan. */
extern _Atomic uint64_t hk_loader_unload_count;

static inline uint64_t hk_loader_unloads(void)
{
	return atomic_load_explicit(&hk_loader_unload_count, memory_order_acquire);
}

/* Some may have gone. */
void hk_loader_note_unload(void);

#endif
