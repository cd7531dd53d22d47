/* redirect.h: redirects calls of a function to another one while the process runs.
 *
 * A redirection holds for the slots of all objects whose path it matches, those loaded later
 * included, and for addresses looked up from them. It changes what is called, and not whether that
 * is counted. Everything here happens within the loader's lock, so on one thread at a time.
 */
#ifndef HK_AGENT_PATCH_REDIRECT_H
#define HK_AGENT_PATCH_REDIRECT_H

#include <stdbool.h>

#include "agent/object/loaded.h"

struct hk_redirection;

/* Redirects calls of SYMBOL from objects that match the glob FROM to REPLACEMENT, or back to the
 * original if it is NULL. The same FROM and SYMBOL have one redirection; of several that cover a
 * call, the one that was set last holds. *ORIGINAL (which may be
 * NULL) gets the original before any call is redirected. Returns it, or NULL without memory. */
struct hk_redirection *hk_redirect_set(struct hk_loaded *loaded, const char *from,
				       const char *symbol, void *replacement, void **original);

/* Redirects the slots of OBJECT, at PATH, which is relocated. Returns how many slots call what the
 * redirection wants. */
unsigned hk_redirect_object(struct hk_redirection *redirection, struct hk_loaded *loaded,
			    const struct hk_object *object, const char *path);

/* The same for all redirections. Takes no time if there are none. */
void hk_redirect_objects(struct hk_loaded *loaded, const struct hk_object *object,
			 const char *path);

/* Looks the original up if no slot led to it. */
void hk_redirect_settle(struct hk_redirection *redirection, const struct hk_loaded *loaded);

/* Returns whether a redirection is for SYMBOL. */
bool hk_redirect_wants(const char *symbol);

/* Returns the address for calls of SYMBOL from the object CALLER, which looked up ADDRESS. */
void *hk_redirect_pointer(const char *symbol, const char *caller, void *address);

#endif
