/* find.h: what the loaded objects export, found without dlsym, which would change what dlerror
 * says.
 *
 * What it finds is the host's: it may be unloaded. Called from within hk_loader_try where the call
 * under way is not one of the loader's own (object/loader.h).
 */
#ifndef HK_AGENT_OBJECT_FIND_H
#define HK_AGENT_OBJECT_FIND_H

#include <stdatomic.h>
#include <stdint.h>

/* Address of exported function NAME in the loaded object whose path or base name matches LIBRARY
 * glob ("*": any, first in load order, the agent itself left out), without dlsym; NULL if none. */
void *hk_find_function(const char *library, const char *name);

/* Address of the first exported variable NAME in load order, which is the one everybody uses; NULL
 * if none. */
void *hk_find_variable(const char *name);

/* The same in the objects that match LIBRARY. */
void *hk_find_variable_in(const char *library, const char *name);

/* A function of any library that is asked for often. All but the name begins as 0. */
struct hk_find_kept {
	const char *name;
	void *_Atomic address;
	_Atomic(uint64_t) unloads; /* hk_loader_unloads() when it was found */
	_Atomic(uint32_t) misses;
};

/* Its address as long as no object has gone, else looked up again; NULL if there is none, and for
 * good after some look-ups in vain, or if the objects cannot be looked at now. Any thread. */
void *hk_find_keep(struct hk_find_kept *kept);

#endif
