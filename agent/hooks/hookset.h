/* hookset.h: the hooks in force in this process, from HOOK_HOOKS and HOOK_LEVEL.
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
	uint32_t default_stack_rate;	      /* stacks a second; 0: all */
	const char *from;		      /* pattern the calling library must match, or NULL */
	struct hk_compat_settings compat;     /* variables of HOOK_COMPAT=1 */
	char text[256];			      /* HOOK_HOOKS as understood, for reports */
	char problem[256];		      /* first problem for people, or empty */
	const struct hk_hookset_index *index; /* how they are found; hookset.c's own */
};

/* Reads the settings from ENVIRONMENT. Returns 0, or -ENOENT if a named file or API does not exist:
 * the others are in force. */
int hk_hookset_load(char *const *environment, struct hk_hookset *set);

/* Returns the hook for SYMBOL defined in PROVIDER ("" unknown: only library "*" matches) and called
 * from LIBRARY, or NULL. Sets *ret_level to its level by its line, the job and `auto`, *ret_pinned
 * to 1 if the user named that level, and *ret_stack_rate to the limit that came with the level. */
const struct hk_hook *hk_hookset_find(const struct hk_hookset *set, const char *symbol,
				      const char *provider, const char *library, uint8_t *ret_level,
				      uint8_t *ret_pinned, uint32_t *ret_stack_rate);

/* Returns the level of SYMBOL defined in PROVIDER, which is no function that hooks name, and sets
 * the other two as hk_hookset_find does. */
uint8_t hk_hookset_level(const struct hk_hookset *set, const char *symbol, const char *provider,
			 uint8_t *ret_pinned, uint32_t *ret_stack_rate);

/* Returns the line that replaces calls of SYMBOL, with the same arguments, or NULL if the call is
 * made. */
const struct hk_hook *hk_hookset_change(const struct hk_hookset *set, const char *symbol,
					const char *provider, const char *library);

/* Returns such lines one after the other, with *AT 0 at first, and NULL after the last. */
const struct hk_hook *hk_hookset_next_change(const struct hk_hookset *set, uint32_t *at);

/* Returns whether SYMBOL may match any hook of any provider. Fast. */
bool hk_hookset_wants(const struct hk_hookset *set, const char *symbol);

/* The same of a symbol that LIBRARY defines, by its hash in DT_GNU_HASH tables without its lowest
 * bit. False is certain, true is not. */
bool hk_hookset_wants_hash(const struct hk_hookset *set, uint32_t gnu_hash, const char *library);

/* Returns whether a deny line forbids to hook SYMBOL defined in PROVIDER ("" unknown). */
bool hk_hookset_denies(const struct hk_hookset *set, const char *symbol, const char *provider);

#endif
