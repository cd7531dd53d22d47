/* version.h: the symbol versions of one object, and which definition a reference accepts.
 *
 * The same rules as the loader's, for calls through a PLT. Reads the tables of loaded objects with
 * the same checks as object.h, and is valid as long. Pure reading, no allocation, no locks.
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

/* Version of symbol INDEX of the object, a reference or a definition, into *ret_version. */
void hk_version_get(const struct hk_object *object, size_t index, struct hk_version *ret_version);

/* The definition of NAME in OBJECT that the loader would take for a reference to version WANTED, of
 * whatever kind it is; NULL if none. */
const ElfW(Sym) * hk_version_match(const struct hk_object *object, const char *name,
				   const struct hk_version *wanted);

#endif
