/* find.h: finds exports of loaded objects without dlsym, which would change the state of dlerror.
 *
 * An address belongs to a library of the host, which may be unloaded. Called within hk_loader_try,
 * unless the present call is one of the loader's own functions (object/loader.h).
 */
#ifndef HK_AGENT_OBJECT_FIND_H
#define HK_AGENT_OBJECT_FIND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/object/loaded.h"

/* Returns the address of exported function NAME in the first loaded object whose path or base name
 * matches the glob LIBRARY ("*": any), without the agent itself, or NULL. */
void *hk_find_function(const char *library, const char *name);

/* Returns the address of the first exported variable NAME in load order in the objects that match
 * LIBRARY, or NULL. */
void *hk_find_variable_in(const char *library, const char *name);

/* A function of any library that is needed often. All fields but NAME begin as 0. NAME is no
 * pointer: the loader would have to relocate that in every process. */
struct hk_find_kept {
	char name[36];
	bool is_variable; /* a variable, and not a function */
	void *_Atomic address;
	_Atomic(uint64_t) unloads; /* hk_loader_unloads() of the last look-up, plus 1 */
	_Atomic(uint32_t) misses;
	size_t searched; /* objects; guarded by the loader's lock, as the next one is */
	struct hk_find_kept *next;
	void (*refreshed)(void); /* called at the end of each refresh; NULL: nothing is */
};

/* Makes every scan look for the COUNT entries of KEPT, which live as long as the process. Before
 * the first scan. */
void hk_find_register(struct hk_find_kept *kept, size_t count);

/* Looks up the registered entries without an address in LOADED. Within the loader's lock, after
 * each change of LOADED. While hk_loader_unloads() stays the same, objects are only appended to
 * LOADED. */
void hk_find_refresh(const struct hk_loaded *loaded);

/* Sets *ret_address to the address of KEPT, which holds as long as no object is unloaded. After an
 * unload it is looked up again. Returns 0, -ENOENT if no object exports it, or -EBUSY if the
 * objects cannot be read now. Any thread. */
int hk_find_keep(struct hk_find_kept *kept, void **ret_address);

#endif
