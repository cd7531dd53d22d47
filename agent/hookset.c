#include "hookset.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "arena.h"
#include "hooks/names.h"
#include "hooks/parser.h"
#include "hooks/pattern.h"
#include "hooks/shipped.h"
#include "ring/kernel.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define PINS_MAX 32u
#define HOOKS_FIRST 2048u
#define HASHES 65536u
#define PAIRS 65536u /* of a symbol's first two bytes */

/* A level the user gave to a pattern. */
struct pin {
	const char *library;
	const char *symbol;
	uint8_t level;
};

struct hk_hookset_index {
	uint8_t pairs[PAIRS / 8];   /* first two bytes of every symbol without wildcards */
	uint8_t hashes[HASHES / 8]; /* bits 1 to 16 of every such symbol's hash */
	uint32_t *buckets;	    /* number of a hook + 1, 0: empty */
	uint32_t bucket_mask;
	uint32_t *next;	 /* of the same bucket, earlier hooks last */
	uint32_t *globs; /* hooks whose symbol has wildcards */
	uint32_t glob_count;
	uint8_t *automatic; /* level under `auto`, DEFAULT for hooks asked for by name */
	const struct hk_hook **deny;
	uint32_t deny_count;
	uint32_t hook_room, deny_room;
	struct pin pins[PINS_MAX];
	uint32_t pin_count;
	bool level_given; /* the job's level is the user's, not ours */
};

static void append(char *to, size_t room, const char *text)
{
	size_t used = strlen(to);
	size_t length = strlen(text);
	if (length > room - 1 - used) {
		length = room - 1 - used;
	}
	memcpy(to + used, text, length);
	to[used + length] = 0;
}

/* Keeps the first problem only. */
static void complain(struct hk_hookset *set, const char *where, const char *what)
{
	if (!set->problem[0]) {
		append(set->problem, sizeof(set->problem), where);
		append(set->problem, sizeof(set->problem), ": ");
		append(set->problem, sizeof(set->problem), what);
	}
}

static const char *setting(char *const *environment, const char *name)
{
	size_t length = strlen(name);
	for (; environment && *environment; environment++) {
		if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') {
			return *environment + length + 1;
		}
	}
	return NULL;
}

static bool has_wildcard(const char *glob)
{
	return strpbrk(glob, "*?") != NULL;
}

static bool grow(void **array, uint32_t count, uint32_t *room, size_t size)
{
	uint32_t larger = *room ? *room * 2 : HOOKS_FIRST;
	void *to = hk_arena_take(larger * size);
	if (!to) {
		return false;
	}
	if (count) {
		memcpy(to, *array, count * size);
	}
	*array = to;
	*room = larger;
	return true;
}

static int add_hook(struct hk_hookset *set, struct hk_hookset_index *index,
		    const struct hk_hook *hook, uint8_t level)
{
	if (set->hook_count == index->hook_room) {
		uint32_t room = index->hook_room;
		if (!grow((void **)&index->automatic, set->hook_count, &room, 1) ||
		    !grow((void **)&set->hooks, set->hook_count, &index->hook_room,
			  sizeof(*set->hooks))) {
			return -ENOMEM;
		}
	}
	index->automatic[set->hook_count] = level;
	set->hooks[set->hook_count++] = hook;
	set->tables |= (hook->flags & HK_HOOK_TABLES) != 0;
	return 0;
}

/* Adds the hooks of one file; AUTOMATIC: only those that are part of `auto`, at the level they have
 * there. */
static int add_file(struct hk_hookset *set, struct hk_hookset_index *index,
		    const struct hk_hook_file *file, bool automatic)
{
	for (uint32_t i = 0; i < file->hook_count; i++) {
		const struct hk_hook *hook = &file->hooks[i];
		if (hook->flags & HK_HOOK_DENY) {
			if (index->deny_count == index->deny_room &&
			    !grow((void **)&index->deny, index->deny_count, &index->deny_room,
				  sizeof(*index->deny))) {
				return -ENOMEM;
			}
			index->deny[index->deny_count++] = hook;
			continue;
		}
		if (automatic && hook->auto_level == HK_LEVEL_OFF) {
			continue;
		}
		int added = add_hook(set, index, hook,
				     automatic ? hook->auto_level : (uint8_t)HK_LEVEL_DEFAULT);
		if (added < 0) {
			return added;
		}
	}
	return 0;
}

static void note_bad_line(void *context, const char *file, uint32_t line, const char *message)
{
	char where[160] = "";
	char digits[12];
	char *at = digits + sizeof(digits) - 1;
	*at = 0;
	do {
		*--at = (char)('0' + line % 10);
		line /= 10;
	} while (line);
	append(where, sizeof(where), file);
	append(where, sizeof(where), ":");
	append(where, sizeof(where), at);
	complain(context, where, message);
}

static int add_text(struct hk_hookset *set, struct hk_hookset_index *index, const char *name,
		    const char *text, size_t size, size_t arena_bytes)
{
	struct hk_hook_arena arena;
	void *memory = hk_arena_take(arena_bytes);
	if (!memory) {
		return -ENOMEM;
	}
	hk_hook_arena_init(&arena, memory, arena_bytes);
	const struct hk_hooks_report report = {note_bad_line, set};
	struct hk_hook_file file;
	set->bad_lines += hk_hooks_parse(&arena, name, text, size, &report, &file);
	return add_file(set, index, &file, false);
}

static int add_path(struct hk_hookset *set, struct hk_hookset_index *index, const char *path)
{
	/* Not blocking: the name may be a pipe's. */
	long fd = hk_kernel(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0, 0);
	if (fd < 0) {
		complain(set, path, "hooks file cannot be opened");
		return -ENOENT;
	}
	char *text = hk_arena_take(FILE_BYTES_MAX + 1);
	size_t size = 0;
	long got = text ? 1 : -ENOMEM;
	while (got > 0 && size <= FILE_BYTES_MAX) {
		got = hk_kernel(SYS_read, fd, text + size, FILE_BYTES_MAX + 1 - size, 0, 0, 0);
		size += got > 0 ? (size_t)got : 0;
	}
	hk_kernel(SYS_close, fd, 0, 0, 0, 0, 0);
	if (got < 0 || size > FILE_BYTES_MAX) {
		complain(set, path, got < 0 ? "hooks file cannot be read" : "hooks file too long");
		return -ENOENT;
	}
	return add_text(set, index, path, text, size, HK_HOOK_ARENA_BYTES);
}

static int add_shipped(struct hk_hookset *set, struct hk_hookset_index *index, const char *name)
{
	bool automatic = strcmp(name, "auto") == 0;
	bool found = automatic;
	for (unsigned i = 0; i < hk_shipped_hook_count; i++) {
		const struct hk_hook_file *file = &hk_shipped_hooks[i];
		/* Deny lines always hold and are in force already. */
		if (strcmp(file->name, "deny") != 0 &&
		    (automatic || strcmp(file->name, name) == 0)) {
			found = true;
			int result = add_file(set, index, file, automatic);
			if (result < 0) {
				return result;
			}
		}
	}
	if (!found) {
		complain(set, name, "no shipped hooks have this name");
		return -ENOENT;
	}
	return 0;
}

/* SYMBOL is asked for by HOOK_ENABLE_TRACE: as shipped where somebody described it. */
static int add_traced(struct hk_hookset *set, struct hk_hookset_index *index, const char *symbol)
{
	char line[sizeof(set->compat.traces[0].symbol) + 3] = "*:";

	for (unsigned i = 0; i < hk_shipped_hook_count; i++) {
		const struct hk_hook_file *file = &hk_shipped_hooks[i];
		for (uint32_t h = 0; h < file->hook_count; h++) {
			if (!(file->hooks[h].flags & HK_HOOK_DENY) &&
			    strcmp(file->hooks[h].symbol, symbol) == 0) {
				return add_hook(set, index, &file->hooks[h], HK_LEVEL_DEFAULT);
			}
		}
	}
	append(line, sizeof(line), symbol);
	return add_text(set, index, "HOOK_ENABLE_TRACE", line, strlen(line),
			4 * sizeof(struct hk_hook));
}

static int read_compat(struct hk_hookset *set, struct hk_hookset_index *index,
		       char *const *environment)
{
	int result = 0;

	if (hk_compat_read(environment, &set->compat) < 0) {
		complain(set, "TARGET_LIB_FILTER", "no basic regular expression");
	}
	for (uint32_t i = 0; i < set->compat.trace_count && result == 0; i++) {
		if (set->compat.traces[i].mask) {
			result = add_traced(set, index, set->compat.traces[i].symbol);
		}
	}
	return result;
}

static bool ends_with(const char *text, const char *ending)
{
	size_t length = strlen(text);
	size_t tail = strlen(ending);
	return length >= tail && strcmp(text + length - tail, ending) == 0;
}

static int add_item(struct hk_hookset *set, struct hk_hookset_index *index, const char *item)
{
	if (ends_with(item, ".hooks")) {
		return add_path(set, index, item);
	}
	if (strchr(item, ':')) {
		/* One line of the hooks language. */
		return add_text(set, index, "HOOK_HOOKS", item, strlen(item),
				4 * sizeof(struct hk_hook));
	}
	return strchr(item, '/') ? add_path(set, index, item) : add_shipped(set, index, item);
}

/* Cuts the next item off a list with commas; NULL at its end. Empty items are passed over. */
static char *next_item(char **list)
{
	while (**list == ',' || **list == ' ') {
		(*list)++;
	}
	if (!**list) {
		return NULL;
	}
	char *item = *list;
	*list += strcspn(item, ",");
	if (**list) {
		*(*list)++ = 0;
	}
	return item;
}

static char *copy_of(const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = hk_arena_take(bytes);
	return copy ? memcpy(copy, text, bytes) : NULL;
}

static int read_hooks(struct hk_hookset *set, struct hk_hookset_index *index, const char *value)
{
	char *list = copy_of(value && value[strspn(value, ", ")] ? value : "auto");
	int result = list ? 0 : -ENOMEM;
	for (char *item; list && (item = next_item(&list));) {
		int added = add_item(set, index, item);
		result = result < 0 ? result : added;
		append(set->text, sizeof(set->text), set->text[0] ? "," : "");
		append(set->text, sizeof(set->text), item);
	}
	return result;
}

static void read_pin(struct hk_hookset *set, struct hk_hookset_index *index, char *item,
		     char *equals)
{
	*equals = 0;
	int level = hk_level_parse(equals + 1);
	if (level <= HK_LEVEL_DEFAULT || index->pin_count == PINS_MAX) {
		complain(set, "HOOK_LEVEL",
			 level <= HK_LEVEL_DEFAULT ? "unknown level" : "too many patterns");
		return;
	}
	struct pin *pin = &index->pins[index->pin_count++];
	size_t colon;
	pin->library = "*";
	pin->symbol = item;
	pin->level = (uint8_t)level;
	if (hk_pattern_split(item, strlen(item), &colon) == 0) {
		item[colon] = 0;
		pin->library = item;
		pin->symbol = item + colon + 1;
	}
}

static void read_levels(struct hk_hookset *set, struct hk_hookset_index *index, const char *value)
{
	set->default_level = HK_LEVEL_RECORD;
	char *list = value ? copy_of(value) : NULL;
	for (char *item; list && (item = next_item(&list));) {
		char *equals = strrchr(item, '=');
		if (equals) {
			read_pin(set, index, item, equals);
			continue;
		}
		int level = hk_level_parse(item);
		if (level > HK_LEVEL_DEFAULT) {
			set->default_level = (uint8_t)level;
			index->level_given = true;
		} else if (level < 0) {
			complain(set, "HOOK_LEVEL", "unknown level");
		}
	}
}

/* The hash of DT_GNU_HASH, so that an object's own table can answer for its symbols. */
static uint32_t hash_of(const char *symbol)
{
	uint32_t hash = 5381;
	for (; *symbol; symbol++) {
		hash = hash * 33 + (uint8_t)*symbol;
	}
	return hash;
}

static unsigned hash_bit(uint32_t hash)
{
	return (hash >> 1) % HASHES;
}

static unsigned pair_of(const char *symbol)
{
	return (unsigned)(uint8_t)symbol[0] << 8 | (symbol[0] ? (uint8_t)symbol[1] : 0);
}

static int build(struct hk_hookset *set, struct hk_hookset_index *index)
{
	uint32_t buckets = 64;
	while (buckets < set->hook_count * 2) {
		buckets *= 2;
	}
	index->buckets = hk_arena_take(buckets * sizeof(uint32_t));
	index->next = hk_arena_take((set->hook_count + 1) * sizeof(uint32_t));
	index->globs = hk_arena_take((set->hook_count + 1) * sizeof(uint32_t));
	if (!index->buckets || !index->next || !index->globs) {
		set->hook_count = 0;
		return -ENOMEM;
	}
	index->bucket_mask = buckets - 1;
	for (uint32_t i = 0; i < set->hook_count; i++) {
		const char *symbol = set->hooks[i]->symbol;
		if (has_wildcard(symbol)) {
			index->globs[index->glob_count++] = i;
			continue;
		}
		unsigned pair = pair_of(symbol);
		index->pairs[pair / 8] |= (uint8_t)(1u << pair % 8);
		uint32_t hash = hash_of(symbol);
		index->hashes[hash_bit(hash) / 8] |= (uint8_t)(1u << hash_bit(hash) % 8);
		uint32_t *bucket = &index->buckets[hash & index->bucket_mask];
		index->next[i] = *bucket;
		*bucket = i + 1;
	}
	return 0;
}

int hk_hookset_load(char *const *environment, struct hk_hookset *set)
{
	memset(set, 0, sizeof(*set));
	struct hk_hookset_index *index = hk_arena_take(sizeof(*index));
	if (!index) {
		return -ENOMEM;
	}
	read_levels(set, index, setting(environment, "HOOK_LEVEL"));
	const char *from = setting(environment, "HOOK_FROM");
	set->from = from && from[0] ? copy_of(from) : NULL;
	int result = 0;
	for (unsigned i = 0; i < hk_shipped_hook_count && result == 0; i++) {
		if (strcmp(hk_shipped_hooks[i].name, "deny") == 0) {
			result = add_file(set, index, &hk_shipped_hooks[i], false);
		}
	}
	if (result == 0) {
		result = read_compat(set, index, environment);
	}
	int read = read_hooks(set, index, setting(environment, "HOOK_HOOKS"));
	result = result < 0 ? result : read;
	int built = build(set, index);
	set->index = index;
	return result < 0 ? result : built;
}

/* Walks the hooks whose symbol matches; number + 1 of the last one in order whose library does too,
 * 0: none. */
static uint32_t last_match(const struct hk_hookset *set, const char *symbol, const char *provider)
{
	const struct hk_hookset_index *index = set->index;
	uint32_t best = 0;
	unsigned pair = pair_of(symbol);
	if (index->pairs[pair / 8] >> pair % 8 & 1) {
		/* Later hooks come first, so the first match of the chain is the chain's last. */
		uint32_t at = index->buckets[hash_of(symbol) & index->bucket_mask];
		for (; at && !best; at = index->next[at - 1]) {
			const struct hk_hook *hook = set->hooks[at - 1];
			if (strcmp(hook->symbol, symbol) == 0 &&
			    (!provider || strcmp(hook->library, "*") == 0 ||
			     hk_pattern_match_library(hook->library, provider))) {
				best = at;
			}
		}
	}
	for (uint32_t i = index->glob_count; i > 0 && index->globs[i - 1] + 1 > best; i--) {
		const struct hk_hook *hook = set->hooks[index->globs[i - 1]];
		if (hk_pattern_match(hook->symbol, symbol) &&
		    (!provider || strcmp(hook->library, "*") == 0 ||
		     hk_pattern_match_library(hook->library, provider))) {
			return index->globs[i - 1] + 1;
		}
	}
	return best;
}

bool hk_hookset_wants(const struct hk_hookset *set, const char *symbol)
{
	return set->index && last_match(set, symbol, NULL) != 0;
}

bool hk_hookset_wants_hash(const struct hk_hookset *set, uint32_t gnu_hash)
{
	const struct hk_hookset_index *index = set->index;
	unsigned bit = hash_bit(gnu_hash);
	return index && (index->glob_count || index->hashes[bit / 8] >> bit % 8 & 1);
}

bool hk_hookset_denies(const struct hk_hookset *set, const char *symbol)
{
	for (uint32_t i = 0; set->index && i < set->index->deny_count; i++) {
		if (hk_pattern_match(set->index->deny[i]->symbol, symbol)) {
			return true;
		}
	}
	return false;
}

const struct hk_hook *hk_hookset_find(const struct hk_hookset *set, const char *symbol,
				      const char *provider, const char *library, uint8_t *ret_level,
				      uint8_t *ret_pinned)
{
	const struct hk_hookset_index *index = set->index;
	uint32_t found = index ? last_match(set, symbol, provider) : 0;
	if (!found || hk_hookset_denies(set, symbol) ||
	    (set->from && !hk_pattern_match_library(set->from, library)) ||
	    (set->compat.filtered && !hk_regex_search(&set->compat.filter, library))) {
		return NULL;
	}
	const struct hk_hook *hook = set->hooks[found - 1];
	uint8_t level = index->automatic[found - 1];
	bool pinned = index->level_given;
	level = level == HK_LEVEL_DEFAULT ? hook->level : level;
	if (level == HK_LEVEL_DEFAULT || (pinned && level > set->default_level)) {
		level = set->default_level;
	}
	for (uint32_t i = 0; i < index->pin_count; i++) {
		const struct pin *pin = &index->pins[i];
		if (hk_pattern_match(pin->symbol, symbol) &&
		    (strcmp(pin->library, "*") == 0 ||
		     hk_pattern_match_library(pin->library, provider))) {
			level = pin->level;
			pinned = true;
		}
	}
	*ret_level = level;
	*ret_pinned = pinned;
	return hook;
}
