/* export.h: finds a function or variable by name among the exports of loaded objects.
 *
 * The address belongs to a library of the host, which may be unloaded. Pure reading, no allocation,
 * no locks.
 */
#ifndef HK_AGENT_OBJECT_EXPORT_H
#define HK_AGENT_OBJECT_EXPORT_H

#include "agent/object/object.h"

struct hk_export {
	const char *library; /* glob for the path or base name of the object; "*": any */
	const char *name;
	/* hk_object_function or hk_object_variable */
	uintptr_t (*find)(const struct hk_object *object, const char *name);
	uintptr_t address; /* 0: not found yet */
};

/* A callback of dl_iterate_phdr. DATA is a struct hk_export. Returns 1 when its address is found.
 * Skips the agent itself. */
int hk_export_find(struct dl_phdr_info *info, size_t size, void *data);

#endif
