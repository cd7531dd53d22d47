/* loaded.h: every object the loader knows in the namespace of the agent, in load order.
 *
 * Collected inside a dl_iterate_phdr callback and valid only until that returns. Memory comes from
 * the arena and is used again by the next collection.
 */
#ifndef HK_AGENT_OBJECT_LOADED_H
#define HK_AGENT_OBJECT_LOADED_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/object/object.h"

struct hk_loaded {
	struct hk_object *objects;
	size_t count;
	size_t room;
	size_t initial;	   /* so many of them came with the program: the global scope, for good */
	bool audited;	   /* LD_AUDIT or --audit: a lazy slot may lead to what no object defines */
	bool dynamic_weak; /* LD_DYNAMIC_WEAK: the first definition need not win */
	size_t
	    last; /* where the last address was found: neighbours in a GOT call the same library */
};

/* Fills *loaded. -ENOMEM: no memory, and the list is short. */
int hk_loaded_collect(struct hk_loaded *loaded);

/* The object whose code holds ADDRESS, or NULL. */
const struct hk_object *hk_loaded_code(struct hk_loaded *loaded, uintptr_t address);

/* The object one of whose segments holds ADDRESS, or NULL. */
const struct hk_object *hk_loaded_holder(const struct hk_loaded *loaded, uintptr_t address);

/* First object that defines NAME, or NULL; *ret_address is 0 if the definition is no plain
 * function. */
const struct hk_object *hk_loaded_define(const struct hk_loaded *loaded, const char *name,
					 uintptr_t *ret_address);

/* The object, and *ret_address in it, to whose function NAME the loader will resolve the lazy slot
 * of CALLER (one of *loaded) for SYMBOL, whatever is loaded or unloaded before the first call.
 * NULL: not certain, or no plain function. */
const struct hk_object *hk_loaded_resolve(const struct hk_loaded *loaded,
					  const struct hk_object *caller, const ElfW(Sym) * symbol,
					  const char *name, uintptr_t *ret_address);

#endif
