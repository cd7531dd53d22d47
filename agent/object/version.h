/* version.h: the symbol versions of one object, and the definition that a reference accepts.
 *
 * The rules are the loader's for calls through a PLT. The tables of loaded objects are read with
 * the checks of object.h, and the results are valid as long as those. Pure reading, no allocation,
 * no locks.
 */
#ifndef HK_AGENT_OBJECT_VERSION_H
#define HK_AGENT_OBJECT_VERSION_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/object/object.h"

struct hk_version {
	const char *name; /* NULL: none, or the object's base version */
	bool hidden;	  /* a reference that no unversioned definition satisfies */
};

/* Sets *ret_version to the version of symbol INDEX of the object, a reference or a definition. */
void hk_version_get(const struct hk_object *object, size_t index, struct hk_version *ret_version);

/* Returns the definition of NAME in OBJECT, of any kind, that the loader would take for a reference
 * to version WANTED, or NULL. */
const ElfW(Sym) * hk_version_match(const struct hk_object *object, const char *name,
				   const struct hk_version *wanted);

#endif
