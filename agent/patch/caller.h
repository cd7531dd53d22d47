/* caller.h: decides whose slots are patched. Pure reading, no locks. */
#ifndef HK_AGENT_PATCH_CALLER_H
#define HK_AGENT_PATCH_CALLER_H

#include <stdbool.h>

#include "agent/object/object.h"

/* Returns whether calls of the object at PATH count as the program's. FROM is the pattern of
 * HOOK_FROM or NULL: the user's pattern for further objects. */
bool hk_caller_counts(const struct hk_object *object, const char *path, const char *from);

#endif
