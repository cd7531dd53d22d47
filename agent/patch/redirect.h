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
#include "agent/patch/known.h"

struct hk_redirect_request {
	const char *from;   /* glob of the calling objects; "": the program */
	const char *symbol; /* the function that is called */
	void *replacement;  /* NULL: the original is called again */
	void **original;    /* gets the original before any call is redirected, or NULL */
};

/* Does what REQUEST asks for in all objects of LOADED that KNOWNS calls done. The same FROM and
 * SYMBOL have one redirection; of several that cover a call, the one that was set last holds.
 * Returns how many slots lead to the replacement, or -1 without memory. */
int hk_redirect(struct hk_loaded *loaded, const struct hk_knowns *knowns,
		const struct hk_redirect_request *request);

/* Redirects the slots of OBJECT, whose entry is KNOWN, as all redirections want, if it is done.
 * Takes no time if there are none. */
void hk_redirect_objects(struct hk_loaded *loaded, const struct hk_object *object,
			 const struct hk_known *known);

/* Returns whether a redirection is for SYMBOL. */
bool hk_redirect_wants(const char *symbol);

/* Returns the address for calls of SYMBOL from the object CALLER, which looked up ADDRESS. */
void *hk_redirect_pointer(const char *symbol, const char *caller, void *address);

/* Returns the original if FUNCTION is its replacement for SYMBOL, else FUNCTION. */
void *hk_redirect_original(const char *symbol, void *function);

/* Ends all redirections, after the slots were restored. */
void hk_redirect_end(void);

#endif
