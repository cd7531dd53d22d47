/* loaded.h: the loader's objects in the agent's namespace, in load order.
 *
 * Collected inside a dl_iterate_phdr callback, and valid until that returns. The memory comes from
 * the arena, and the next collection uses it again.
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
	size_t initial;	   /* number of objects that came with the program: the global scope */
	bool audited;	   /* LD_AUDIT or --audit: a lazy slot may lead to code of no object */
	bool dynamic_weak; /* LD_DYNAMIC_WEAK: the first definition need not win */
	size_t last; /* object of the last address: neighbours in a GOT call the same library */
};

/* Fills *loaded. Returns 0, or -ENOMEM, and the list is incomplete. */
int hk_loaded_collect(struct hk_loaded *loaded);

/* The object whose code holds ADDRESS, or NULL. */
const struct hk_object *hk_loaded_code(struct hk_loaded *loaded, uintptr_t address);

/* Returns the object with a segment that holds ADDRESS, or NULL. */
const struct hk_object *hk_loaded_holder(const struct hk_loaded *loaded, uintptr_t address);

/* Returns the first object that defines NAME, or NULL. *ret_address is 0 if the definition is no
 * plain function. */
const struct hk_object *hk_loaded_define(const struct hk_loaded *loaded, const char *name,
					 uintptr_t *ret_address);

/* Returns the object, with *ret_address in it, to which the loader will resolve the lazy slot of
 * CALLER (one of *loaded) for SYMBOL, whatever is loaded or unloaded before the first call. Returns
 * NULL if that is not certain, or if it is no plain function. */
const struct hk_object *hk_loaded_resolve(const struct hk_loaded *loaded,
					  const struct hk_object *caller, const ElfW(Sym) * symbol,
					  const char *name, uintptr_t *ret_address);

#endif
