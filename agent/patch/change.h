/* change.h: redirects calls by `replace`, `skip` and `return` lines.
 *
 * Libraries of replacements are opened at start, before any slot is patched, and never closed. The
 * replacement is then an original like any other: the thunk calls it. Targets are found within the
 * loader's lock.
 */
#ifndef HK_AGENT_PATCH_CHANGE_H
#define HK_AGENT_PATCH_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/hooks/hookset.h"

/* Opens the libraries of SET's lines. Writes to TEXT of SIZE bytes, for people, which calls are
 * redirected and which cannot be, or "". */
void hk_change_start(const struct hk_hookset *set, char *text, size_t size);

/* Returns the replacement of ORIGINAL for calls of SYMBOL of PROVIDER from the object CALLER, or
 * NULL for ORIGINAL. Sets the variable __origin_SYMBOL of the replacement's library to ORIGINAL, if
 * there is one. */
void *hk_change_target(const char *symbol, const char *provider, const char *caller,
		       void *original);

/* Returns whether a slot for SYMBOL that holds ADDRESS was redirected before. */
bool hk_change_is_target(const char *symbol, const void *address);

#endif
