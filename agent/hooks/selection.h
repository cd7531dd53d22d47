/* selection.h: the hooks in force: shipped files, or the part of them that is `auto`, and the
 * user's.
 *
 * Filled at start, read-only afterwards but for shipped hooks put together when first asked for;
 * then any thread. Memory is the arena's.
 */
#ifndef HK_AGENT_HOOKS_SELECTION_H
#define HK_AGENT_HOOKS_SELECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "hooks/hook.h"
#include "hooks/index.h"
#include "hooks/shipped.h"

#define HK_SELECTION_GLOBS 8u

struct hk_selection {
	bool named[HK_SHIPPED_FILES];	  /* all of the file, as its lines say */
	bool automatic[HK_SHIPPED_FILES]; /* those of it that `auto` has */
	struct hk_index shipped;
	const struct hk_hook *_Atomic *unpacked; /* shipped hooks that were asked for */
	/* Shipped hooks in force with wildcards in their symbols, besides deny's. */
	uint32_t globs[HK_SELECTION_GLOBS];
	uint32_t glob_count;
	bool many_globs; /* there are more, or one may match any symbol */

	const struct hk_hook **own; /* the user's, in order */
	struct hk_index own_index;  /* once there are any */
	uint32_t own_count, own_room;
};

/* The hooks for a symbol, by number + 1: shipped hooks first, then the user's; 0: none. */
struct hk_selected {
	uint32_t number;
	uint32_t pattern; /* a line without arguments that also covers it, and comes later */
	uint32_t change;  /* a line that says what happens instead of the call */
	bool denied;	  /* a deny line covers it, whatever NUMBER says */
};

/* Nothing but the deny lines. -ENOMEM. */
int hk_selection_init(struct hk_selection *selection);

/* Adds shipped file NAME, or for AUTOMATIC its part of `auto`. Returns 0, or -ENOENT if there is
 * none. */
int hk_selection_add_file(struct hk_selection *selection, const char *name, bool automatic);

/* Adds a hook of the user, which comes before all earlier ones. Returns 0 or -ENOMEM. */
int hk_selection_add_hook(struct hk_selection *selection, const struct hk_hook *hook);

/* Completes the selection after the last addition. Returns 0, or -ENOMEM: then the user's hooks are
 * not in force. */
int hk_selection_build(struct hk_selection *selection);

/* Hooks in force, deny lines not counted. */
uint32_t hk_selection_count(const struct hk_selection *selection);

/* Whether one of them looks into tables of pointers. */
bool hk_selection_has_tables(const struct hk_selection *selection);

/* Finds the hook for calls of SYMBOL defined in PROVIDER (NULL: any, "" unknown: only library "*"
 * covers it) from the object CALLER (NULL: any). The last of several lines wins, and a user's line
 * wins over a shipped one, but a line with arguments wins over a line without. */
struct hk_selected hk_selection_search(const struct hk_selection *selection, const char *symbol,
				       const char *provider, const char *caller);

/* Returns whether a hook in force may be for a symbol that LIBRARY defines, of HASH in DT_GNU_HASH
 * tables without its lowest bit. False is certain. */
bool hk_selection_has_hash(const struct hk_selection *selection, uint32_t hash,
			   const char *library);

/* Returns the hook of a number from a search, and the level that `auto` has for it (DEFAULT: that
 * of its line), or NULL without memory. */
const struct hk_hook *hk_selection_get(const struct hk_selection *selection, uint32_t number,
				       uint8_t *ret_level);

/* Returns the shipped hook of a symbol without wildcards, in force or not, or NULL. */
const struct hk_hook *hk_selection_shipped(const struct hk_selection *selection,
					   const char *symbol);

#endif
