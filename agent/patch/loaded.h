/* loaded.h: every object the loader knows in the namespace of the agent, in load order.
 *
 * Collected inside a dl_iterate_phdr callback and valid only until that returns. Memory comes from
 * the arena and is used again by the next collection.
 */
#ifndef HK_AGENT_PATCH_LOADED_H
#define HK_AGENT_PATCH_LOADED_H

#include <stddef.h>

#include "patch/object.h"

struct hk_loaded {
	struct hk_object *objects;
	size_t count;
	size_t room;
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

/* Address of the function NAME if all objects together define it once, in one version: whatever the
 * loader's scopes, it can only be that one. 0: not so, or an indirect function. */
uintptr_t hk_loaded_only(const struct hk_loaded *loaded, const char *name);

#endif
