#include "agent/hooks/selection.h"

#include <errno.h>
#include <string.h>

#include "agent/memory/arena.h"
#include "hooks/pattern.h"

#define OWN_FIRST 64u

/* The part of a hook that a search reads. */
struct line {
	const char *library;
	const char *symbol;
	const char *from; /* NULL: any caller */
	uint16_t flags;
	uint8_t action;
};

static struct line shipped_line(uint32_t number)
{
	const struct hk_shipped_hook *hook = &hk_shipped_hook_list[number];
	return (struct line){.library = hk_shipped_texts + hook->library,
			     .symbol = hk_shipped_texts + hook->symbol,
			     .flags = hook->flags};
}

static struct line own_line(const struct hk_selection *selection, uint32_t number)
{
	const struct hk_hook *hook = selection->own[number];
	return (struct line){hook->library, hook->symbol, hook->from, hook->flags, hook->action};
}

static bool is_automatic(uint32_t number)
{
	const struct hk_shipped_hook *hook = &hk_shipped_hook_list[number];
	return !(hook->flags & HK_HOOK_DENY) && hook->auto_level != HK_LEVEL_OFF;
}

/* Returns whether hook NUMBER is in force. Deny lines always are. */
static bool in_force(const struct hk_selection *selection, uint32_t number)
{
	unsigned file = hk_shipped_file_of(number);
	return (hk_shipped_hook_list[number].flags & HK_HOOK_DENY) || selection->named[file] ||
	       (selection->automatic[file] && is_automatic(number));
}

int hk_selection_init(struct hk_selection *selection)
{
	*selection = (struct hk_selection){0};
	hk_shipped_index(&selection->shipped);
	/* Most of this memory is never touched. */
	selection->unpacked = hk_arena_take(hk_shipped_hook_count * sizeof(*selection->unpacked));
	return selection->unpacked ? 0 : -ENOMEM;
}

int hk_selection_add_file(struct hk_selection *selection, const char *name, bool automatic)
{
	for (unsigned i = 0; i < hk_shipped_file_count; i++) {
		if (strcmp(hk_shipped_name(i), name) == 0) {
			*(automatic ? &selection->automatic[i] : &selection->named[i]) = true;
			return 0;
		}
	}
	return -ENOENT;
}

int hk_selection_add_hook(struct hk_selection *selection, const struct hk_hook *hook)
{
	if (selection->own_count == selection->own_room) {
		uint32_t room = selection->own_room ? selection->own_room * 2 : OWN_FIRST;
		const struct hk_hook **larger = hk_arena_take(room * sizeof(*larger));
		if (!larger) {
			return -ENOMEM;
		}
		if (selection->own_count) {
			memcpy(larger, selection->own, selection->own_count * sizeof(*larger));
		}
		selection->own = larger;
		selection->own_room = room;
	}
	selection->own[selection->own_count++] = hook;
	return 0;
}

static int build_own(struct hk_selection *selection)
{
	uint32_t count = selection->own_count;
	const char **symbols = hk_arena_take(count * sizeof(*symbols));
	void *room = hk_arena_take(hk_index_bytes(count));
	if (!symbols || !room) {
		selection->own_count = 0;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++) {
		symbols[i] = selection->own[i]->symbol;
	}
	hk_index_build(symbols, count, room, &selection->own_index);
	return 0;
}

static bool is_literal(char c)
{
	return c && c != '*' && c != '?';
}

int hk_selection_build(struct hk_selection *selection)
{
	for (uint32_t i = 0; i < selection->shipped.glob_count; i++) {
		uint32_t number = selection->shipped.globs[i];
		struct line line = shipped_line(number);
		if (!in_force(selection, number) || (line.flags & HK_HOOK_DENY)) {
			continue;
		}
		if (selection->glob_count == HK_SELECTION_GLOBS || !is_literal(line.symbol[0]) ||
		    !is_literal(line.symbol[1])) {
			selection->many_globs = true;
			continue;
		}
		selection->globs[selection->glob_count++] = number;
	}
	return selection->own_count ? build_own(selection) : 0;
}

uint32_t hk_selection_count(const struct hk_selection *selection)
{
	uint32_t count = 0;
	for (unsigned i = 0; i < hk_shipped_file_count; i++) {
		const struct hk_shipped_file *file = &hk_shipped_file_list[i];
		count += selection->named[i]	   ? file->count
			 : selection->automatic[i] ? file->automatic
						   : 0;
	}
	for (uint32_t i = 0; i < selection->own_count; i++) {
		count += !(selection->own[i]->flags & HK_HOOK_DENY);
	}
	return count;
}

bool hk_selection_has_tables(const struct hk_selection *selection)
{
	for (unsigned i = 0; i < hk_shipped_file_count; i++) {
		if ((selection->named[i] || selection->automatic[i]) &&
		    hk_shipped_file_list[i].tables) {
			return true;
		}
	}
	for (uint32_t i = 0; i < selection->own_count; i++) {
		if (selection->own[i]->flags & HK_HOOK_TABLES) {
			return true;
		}
	}
	return false;
}

/* A search for the hooks of a symbol. */
struct search {
	const struct hk_selection *selection;
	const char *symbol;
	const char *provider; /* NULL: any */
	const char *caller;   /* NULL: any */
	uint32_t hash;
	struct hk_selected found;
};

static bool covers(const char *pattern, const char *library)
{
	return !library || strcmp(pattern, "*") == 0 || hk_pattern_match_library(pattern, library);
}

static void take(struct search *search, const struct line *line, uint32_t number)
{
	struct hk_selected *found = &search->found;
	if (!covers(line->library, search->provider) ||
	    (line->from && !covers(line->from, search->caller))) {
		return;
	}
	if (line->flags & HK_HOOK_DENY) {
		found->denied = true;
		return;
	}
	uint32_t *place = &found->pattern;
	if (line->action) {
		place = &found->change;
	} else if (line->flags & HK_HOOK_DESCRIBED) {
		place = &found->number;
	}
	*place = number > *place ? number : *place;
}

/* A description stays valid under a later pattern, and a changed function is watched too. */
static void settle(struct hk_selected *found)
{
	if (!found->number) {
		found->number = found->pattern ? found->pattern : found->change;
	}
	if (found->pattern <= found->number) {
		found->pattern = 0;
	}
}

static void search_shipped(struct search *search)
{
	const struct hk_index *index = &search->selection->shipped;

	if (hk_index_begins(index, search->symbol) && hk_index_passes(index, search->hash)) {
		for (uint32_t at = hk_index_first(index, search->hash); at;
		     at = index->next[at - 1]) {
			struct line line = shipped_line(at - 1);
			if (index->hashes[at - 1] == search->hash &&
			    strcmp(line.symbol, search->symbol) == 0 &&
			    in_force(search->selection, at - 1)) {
				take(search, &line, at);
			}
		}
	}
	for (uint32_t i = 0; i < index->glob_count; i++) {
		struct line line = shipped_line(index->globs[i]);
		if (hk_pattern_match(line.symbol, search->symbol) &&
		    in_force(search->selection, index->globs[i])) {
			take(search, &line, index->globs[i] + 1);
		}
	}
}

static void search_own(struct search *search)
{
	const struct hk_selection *selection = search->selection;
	const struct hk_index *index = &selection->own_index;

	for (uint32_t at = hk_index_first(index, search->hash); at; at = index->next[at - 1]) {
		struct line line = own_line(selection, at - 1);
		if (index->hashes[at - 1] == search->hash &&
		    strcmp(line.symbol, search->symbol) == 0) {
			take(search, &line, hk_shipped_hook_count + at);
		}
	}
	for (uint32_t i = 0; i < index->glob_count; i++) {
		struct line line = own_line(selection, index->globs[i]);
		if (hk_pattern_match(line.symbol, search->symbol)) {
			take(search, &line, hk_shipped_hook_count + index->globs[i] + 1);
		}
	}
}

/* Returns whether SYMBOL begins like that of a shipped hook with wildcards. */
static bool begins_like_glob(const struct hk_selection *selection, const char *symbol)
{
	for (uint32_t i = 0; i < selection->glob_count; i++) {
		const char *glob = shipped_line(selection->globs[i]).symbol;
		if (glob[0] == symbol[0] && glob[1] == symbol[1]) {
			return true;
		}
	}
	return false;
}

/* Returns whether a hook may match. Most symbols fail here, after a check of two bytes of their
 * names. */
static bool can_match(const struct hk_selection *selection, const char *symbol)
{
	return selection->many_globs || hk_index_begins(&selection->shipped, symbol) ||
	       begins_like_glob(selection, symbol) ||
	       (selection->own_count && (selection->own_index.glob_count ||
					 hk_index_begins(&selection->own_index, symbol)));
}

struct hk_selected hk_selection_search(const struct hk_selection *selection, const char *symbol,
				       const char *provider, const char *caller)
{
	struct search search = {
	    .selection = selection, .symbol = symbol, .provider = provider, .caller = caller};

	if (can_match(selection, symbol)) {
		search.hash = hk_index_hash(symbol);
		if (selection->own_count) {
			search_own(&search);
		}
		search_shipped(&search);
		settle(&search.found);
	}
	return search.found;
}

static bool chain_has(const struct hk_selection *selection, const struct hk_index *index,
		      uint32_t hash, bool own)
{
	if (!hk_index_passes(index, hash)) {
		return false;
	}
	for (uint32_t at = hk_index_first(index, hash); at; at = index->next[at - 1]) {
		if ((index->hashes[at - 1] | 1) == (hash | 1) &&
		    (own || in_force(selection, at - 1))) {
			return true;
		}
	}
	return false;
}

/* Returns whether a shipped hook with wildcards in its symbol is for functions of LIBRARY. */
static bool has_glob_for(const struct hk_selection *selection, const char *library)
{
	for (uint32_t i = 0; i < selection->glob_count; i++) {
		if (covers(shipped_line(selection->globs[i]).library, library)) {
			return true;
		}
	}
	return selection->many_globs;
}

bool hk_selection_has_hash(const struct hk_selection *selection, uint32_t hash, const char *library)
{
	if (has_glob_for(selection, library) ||
	    chain_has(selection, &selection->shipped, hash, false)) {
		return true;
	}
	return selection->own_count && (selection->own_index.glob_count ||
					chain_has(selection, &selection->own_index, hash, true));
}

static const struct hk_hook *unpack(const struct hk_selection *selection, uint32_t number)
{
	const struct hk_hook *_Atomic *place = &selection->unpacked[number];
	const struct hk_hook *hook = atomic_load_explicit(place, memory_order_acquire);
	if (hook) {
		return hook;
	}
	struct hk_hook *made = hk_arena_take(sizeof(*made));
	if (!made) {
		return NULL;
	}
	hk_shipped_get(number, made);
	/* Another thread may have been faster. A hook has one address, so that one is used. */
	return atomic_compare_exchange_strong(place, &hook, made) ? made : hook;
}

const struct hk_hook *hk_selection_get(const struct hk_selection *selection, uint32_t number,
				       uint8_t *ret_level)
{
	*ret_level = HK_LEVEL_DEFAULT;
	if (number > hk_shipped_hook_count) {
		return selection->own[number - hk_shipped_hook_count - 1];
	}
	if (!selection->named[hk_shipped_file_of(number - 1)]) {
		*ret_level = hk_shipped_hook_list[number - 1].auto_level;
	}
	return unpack(selection, number - 1);
}

const struct hk_hook *hk_selection_shipped(const struct hk_selection *selection, const char *symbol)
{
	const struct hk_index *index = &selection->shipped;
	uint32_t hash = hk_index_hash(symbol);

	for (uint32_t at = hk_index_first(index, hash); at; at = index->next[at - 1]) {
		struct line line = shipped_line(at - 1);
		if (!(line.flags & HK_HOOK_DENY) && strcmp(line.symbol, symbol) == 0) {
			return unpack(selection, at - 1);
		}
	}
	return NULL;
}
