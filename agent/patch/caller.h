/* caller.h: whose slots are patched. Pure reading, no locks. */
#ifndef HK_AGENT_PATCH_CALLER_H
#define HK_AGENT_PATCH_CALLER_H

#include <stdbool.h>

#include "agent/object/object.h"

/* Whether calls that the object at PATH makes are the program's. FROM: the pattern of HOOK_FROM or
 * NULL, by which a user asks for objects that otherwise do not count. */
bool hk_caller_counts(const struct hk_object *object, const char *path, const char *from);

#endif
