/* loader.h: looking at the loaded objects where the loader's lock lets us.
 *
 * A thread that is in dl_iterate_phdr or dlopen while another forks leaves the child a lock that
 * nobody will ever give back, and libc does not make it new. The child, which may never go near the
 * loader, must not hang because we do.
 */
#ifndef HK_AGENT_PATCH_LOADER_H
#define HK_AGENT_PATCH_LOADER_H

#include <link.h>
#include <stdbool.h>

/* Before any other thread can be there. */
void hk_loader_setup(void);

/* As dl_iterate_phdr; 0 and no call where the lock may be held for ever, or in a sandbox. */
int hk_loader_iterate(int (*callback)(struct dl_phdr_info *, size_t, void *), void *data);

/* From within hk_loader_iterate: what hk_loader_unchanged compares with. */
void hk_loader_remember(void);

/* Whether no object has come since then, told without the lock: who holds it may wait for us. An
 * object that went is not noticed, nor one in the very place of the last one. */
bool hk_loader_unchanged(void);

/* Rises, without the lock, when objects may have gone: what was found in them before is not to be
 * used any more. One that is closed by a call that nobody sees counts at the next scan. */
uint64_t hk_loader_unloads(void);

/* Some may have gone. */
void hk_loader_note_unload(void);

#endif
