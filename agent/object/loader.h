/* loader.h: looks at the loaded objects without waiting for a thread that may wait for the agent.
 *
 * dl_iterate_phdr takes a lock of the loader's. A thread that holds it may be in a callback of the
 * host's and want a mutex, and the call that we are in may be made under that mutex. A child forked
 * meanwhile gets the lock from a thread that it does not have. So the lock is found in the loader's
 * memory, by what it counts while we hold it, and is tried, not waited for.
 */
#ifndef HK_AGENT_OBJECT_LOADER_H
#define HK_AGENT_OBJECT_LOADER_H

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Before any other thread can be there. */
void hk_loader_setup(void);

/* Looks for the lock until it is known. From within a callback of dl_iterate_phdr. */
void hk_loader_find_lock(void);

/* As dl_iterate_phdr, or -EBUSY and no call: somebody has the lock, the list is being changed by
 * the very thread that we run on, or the process is a sandbox. Inside another one of these it is
 * never busy. */
int hk_loader_try(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data);

/* The same where some waiting breaks nothing: calls of the loader's own functions.
 */
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
