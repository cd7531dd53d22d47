/* hookset.h: which hooks are in force in this process, from HOOK_HOOKS and HOOK_LEVEL.
 *
 * Made once at start: shipped files are only marked as in force, the user's are parsed into arena
 * memory. Read-only afterwards.
 */
#ifndef HK_AGENT_HOOKS_HOOKSET_H
#define HK_AGENT_HOOKS_HOOKSET_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/hooks/compat_settings.h"
#include "hooks/hook.h"

struct hk_hookset {
	uint32_t hook_count; /* hooks in force */
	uint32_t bad_lines;
	bool tables;			      /* a hook asks for tables of pointers too */
	uint8_t default_level;		      /* enum hk_level */
	const char *from;		      /* pattern the calling library must match, or NULL */
	struct hk_compat_settings compat;     /* variables of HOOK_COMPAT=1 */
	char text[256];			      /* HOOK_HOOKS as understood, for reports */
	char problem[256];		      /* first problem for people, or empty */
	const struct hk_hookset_index *index; /* how they are found; hookset.c's own */
};

/* Reads the settings from ENVIRONMENT. 0; -ENOENT: a named file or API does not exist (the rest is
 * in force). */
int hk_hookset_load(char *const *environment, struct hk_hookset *set);

/* The hook for SYMBOL defined in PROVIDER ("" unknown: only library "*" matches) and called from
 * LIBRARY, or NULL; *ret_level is what the line, the job and `auto` make of it, *ret_pinned 1 if
 * the user named it. */
const struct hk_hook *hk_hookset_find(const struct hk_hookset *set, const char *symbol,
				      const char *provider, const char *library, uint8_t *ret_level,
				      uint8_t *ret_pinned);

/* The line that says what happens instead of calls to SYMBOL, defined and called like there; NULL:
 * the call is made. */
const struct hk_hook *hk_hookset_change(const struct hk_hookset *set, const char *symbol,
					const char *provider, const char *library);

/* Such lines one after the other, *AT beginning as 0; NULL after the last. */
const struct hk_hook *hk_hookset_next_change(const struct hk_hookset *set, uint32_t *at);

/* Quick test without knowing the provider: may SYMBOL match any hook at all? */
bool hk_hookset_wants(const struct hk_hookset *set, const char *symbol);

/* The same by the symbol's hash as DT_GNU_HASH tables keep it, the lowest bit not looked at: false
 * is certain, true is not. */
bool hk_hookset_wants_hash(const struct hk_hookset *set, uint32_t gnu_hash);

/* Whether a deny line keeps SYMBOL as defined in PROVIDER ("" unknown) from ever being hooked. */
bool hk_hookset_denies(const struct hk_hookset *set, const char *symbol, const char *provider);

#endif
