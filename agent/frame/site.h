/* site.h: call sites and their thunks, for the patcher.
 *
 * A site is one function as called through one object's slot. Binding a site yields the address to
 * put into the slot: a thunk that calls the original with statistics around it. The same (function,
 * library, original, shared) yields the same site again, until the calling object or the original's
 * is unloaded: then the site is retired. It comes back, with the same thunk and the same number,
 * when the same function of the same library is called from the same library under the same hook
 * again. hk_site_bind is called under the loader's lock (dl_iterate_phdr) or with the patcher's own
 * lock, so by one thread at a time; the rest is safe anywhere.
 */
#ifndef HK_AGENT_FRAME_SITE_H
#define HK_AGENT_FRAME_SITE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/frame/site_table.h"
#include "agent/object/object.h"
#include "hooks/hook.h"

struct hk_site_request {
	const struct hk_hook *hook;
	const char *function;  /* the symbol as bound */
	const char *library;   /* calling object's path as loaded; "*" if shared */
	const char *provider;  /* defining object's path or "" */
	void *original;	       /* what the slot held: function or lazy PLT stub */
	void **slot;	       /* the slot of a call of its own, else NULL */
	struct hk_span caller; /* the calling object; empty if it is not known or shared */
	bool lazy;   /* the slot still holds the loader's stub: hooked again after the first call */
	bool shared; /* one thunk per symbol (GLOB_DAT, dlsym) instead of one per object */
	uint8_t level;	/* enum hk_level resolved by the hook set for this library and symbol; never
			   DEFAULT. Rules in force come on top. */
	uint8_t pinned; /* the user gave the level */
	uint32_t stack_rate; /* stacks a second at level record+stack; 0: all */
};

/* Returns the address for the slot, or NULL with *ret_refusal set to one of enum hk_refusal
 * (ring/segment.h). */
void *hk_site_bind(const struct hk_site_request *request, uint32_t *ret_refusal);

/* Returns the site whose thunk is at that address, or HK_SITES_BOUND (spare.h) if it is no thunk.
 */
uint32_t hk_site_index(const void *thunk);

/* Returns true if ADDRESS is that of a thunk: the slot is hooked already. */
bool hk_site_is_thunk(const void *address);

/* Frees the memory of most unused thunks. Further sites get no thunk. Under the process lock. */
void hk_site_cut(void);

/* Tracing begins once more, after hk_site_table_pass_all. SAME_HOOKS: under the hooks of before;
 * otherwise the sites of functions are retired. Plain sites get their LEVEL again. Under the
 * process lock. */
void hk_site_resume(bool same_hooks, hk_site_level *level);

/* Returns the original behind a thunk, which restores copied pointers, or NULL if it is no thunk.
 */
void *hk_site_original(const void *thunk);

/* Sets the function behind site INDEX, which has a thunk with a frame, and the path of the calling
 * object ("*": shared). */
const char *hk_site_function(uint32_t index);
const char *hk_site_library(uint32_t index);

/* Hooks a lazy slot again after its first call, which returned to RETURN_ADDRESS or was left (0),
 * and reads the real original. Returns false if the caller's object may be unloaded: then the next
 * scan does it. */
bool hk_site_rearm(uint32_t index, uintptr_t return_address);

/* Retires the sites of calls from and to the object that was at SPAN. Under the loader's lock. */
void hk_site_retire(struct hk_span span);

#endif
