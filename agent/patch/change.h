/* change.h: calls that do not go where the program sends them: `replace`, `skip` and `return`
 * lines.
 *
 * Libraries of replacements are opened at start, before any slot is patched, and never closed. What
 * a slot leads to then is an original like any other: the thunk calls it. Targets are found inside
 * the loader's lock.
 */
#ifndef HK_AGENT_PATCH_CHANGE_H
#define HK_AGENT_PATCH_CHANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "agent/hooks/hookset.h"

/* Opens the libraries that SET's lines name, and writes to TEXT of SIZE bytes, for people, what is
 * changed and what cannot be; empty: nothing. */
void hk_change_start(const struct hk_hookset *set, char *text, size_t size);

/* What calls to SYMBOL of PROVIDER lead to from the object CALLER, instead of ORIGINAL, which the
 * replacement's library gets to know if it has a variable __origin_SYMBOL. NULL: ORIGINAL. */
void *hk_change_target(const char *symbol, const char *provider, const char *caller,
		       void *original);

/* Whether a slot for SYMBOL that holds ADDRESS was changed before. */
bool hk_change_is_target(const char *symbol, const void *address);

#endif
