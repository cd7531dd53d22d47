#include "agent/hooks/hookset.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "agent/hooks/selection.h"
#include "agent/memory/arena.h"
#include "hooks/language/parser.h"
#include "hooks/names.h"
#include "hooks/pattern.h"
#include "ring/kernel.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)
#define PINS_MAX 32u

/* A level that the user gave to a pattern. */
struct pin {
	const char *library;
	const char *symbol;
	uint8_t level;
	uint32_t stack_rate;
};

struct hk_hookset_index {
	struct hk_selection selection;
	struct pin pins[PINS_MAX];
	uint32_t pin_count;
	bool level_given; /* the user set the job's level */
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

/* Notes a problem. Only the first one is kept. */
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
	int result = 0;
	for (uint32_t i = 0; i < file.hook_count && result == 0; i++) {
		result = hk_selection_add_hook(&index->selection, &file.hooks[i]);
	}
	return result;
}

static int add_path(struct hk_hookset *set, struct hk_hookset_index *index, const char *path)
{
	/* The file is opened without blocking, because the name may be that of a pipe. */
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
	if (strcmp(name, "auto") == 0) {
		for (unsigned i = 0; i < hk_shipped_file_count; i++) {
			hk_selection_add_file(&index->selection, hk_shipped_name(i), true);
		}
		return 0;
	}
	int result = hk_selection_add_file(&index->selection, name, false);
	if (result < 0) {
		complain(set, name, "no shipped hooks have this name");
	}
	return result;
}

/* Adds SYMBOL of HOOK_ENABLE_TRACE, with its shipped description if there is one. */
static int add_traced(struct hk_hookset *set, struct hk_hookset_index *index, const char *symbol)
{
	char line[sizeof(set->compat.traces[0].symbol) + 3] = "*:";
	const struct hk_hook *shipped = hk_selection_shipped(&index->selection, symbol);

	if (shipped) {
		return hk_selection_add_hook(&index->selection, shipped);
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
		/* The item is a line of the hooks language. */
		return add_text(set, index, "HOOK_HOOKS", item, strlen(item),
				4 * sizeof(struct hk_hook) + 2 * strlen(item));
	}
	return strchr(item, '/') ? add_path(set, index, item) : add_shipped(set, index, item);
}

/* Cuts the next item off a list with commas. Empty items are skipped. Returns NULL at the end. */
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
	uint32_t stack_rate;
	int level = hk_level_parse(equals + 1, &stack_rate);
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
	pin->stack_rate = stack_rate;
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
		uint32_t stack_rate;
		int level = hk_level_parse(item, &stack_rate);
		if (level > HK_LEVEL_DEFAULT) {
			set->default_level = (uint8_t)level;
			set->default_stack_rate = stack_rate;
			index->level_given = true;
		} else if (level < 0) {
			complain(set, "HOOK_LEVEL", "unknown level");
		}
	}
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
	int result = hk_selection_init(&index->selection);
	if (result == 0) {
		result = read_compat(set, index, environment);
	}
	int read = read_hooks(set, index, setting(environment, "HOOK_HOOKS"));
	result = result < 0 ? result : read;
	int built = hk_selection_build(&index->selection);
	set->hook_count = hk_selection_count(&index->selection);
	set->tables = hk_selection_has_tables(&index->selection);
	set->index = index;
	return result < 0 ? result : built;
}

bool hk_hookset_wants(const struct hk_hookset *set, const char *symbol)
{
	return set->index &&
	       hk_selection_search(&set->index->selection, symbol, NULL, NULL).number != 0;
}

bool hk_hookset_wants_hash(const struct hk_hookset *set, uint32_t gnu_hash, const char *library)
{
	return set->index && hk_selection_has_hash(&set->index->selection, gnu_hash, library);
}

bool hk_hookset_denies(const struct hk_hookset *set, const char *symbol, const char *provider)
{
	return set->index &&
	       hk_selection_search(&set->index->selection, symbol, provider, NULL).denied;
}

/* Returns the level that follows from the hook's line, from `auto` (AUTOMATIC) and from the job.
 * *stack_rate is the line's, and becomes the job's with the job's level. */
static uint8_t level_of(const struct hk_hookset *set, const struct hk_hook *hook, uint8_t automatic,
			uint32_t *stack_rate)
{
	uint8_t level = automatic == HK_LEVEL_DEFAULT ? hook->level : automatic;
	if (level == HK_LEVEL_DEFAULT || (set->index->level_given && level > set->default_level)) {
		level = set->default_level;
		*stack_rate = set->default_stack_rate;
	}
	return level;
}

/* Finds the hook that covers the call, if the job's filters permit it. */
static struct hk_selected search(const struct hk_hookset *set, const char *symbol,
				 const char *provider, const char *library)
{
	struct hk_selected found = {0};
	if (set->index && (!set->from || hk_pattern_match_library(set->from, library)) &&
	    (!set->compat.filtered || hk_regex_search(&set->compat.filter, library))) {
		found = hk_selection_search(&set->index->selection, symbol, provider, library);
	}
	return found.denied ? (struct hk_selected){0} : found;
}

/* Returns the last pattern of --level that covers the function, or NULL. */
static const struct pin *pin_of(const struct hk_hookset_index *index, const char *symbol,
				const char *provider)
{
	for (uint32_t i = index->pin_count; i > 0; i--) {
		const struct pin *pin = &index->pins[i - 1];
		if (hk_pattern_match(pin->symbol, symbol) &&
		    (strcmp(pin->library, "*") == 0 ||
		     hk_pattern_match_library(pin->library, provider))) {
			return pin;
		}
	}
	return NULL;
}

const struct hk_hook *hk_hookset_find(const struct hk_hookset *set, const char *symbol,
				      const char *provider, const char *library, uint8_t *ret_level,
				      uint8_t *ret_pinned, uint32_t *ret_stack_rate)
{
	const struct hk_hookset_index *index = set->index;
	struct hk_selected found = search(set, symbol, provider, library);
	uint8_t automatic, unused;
	const struct hk_hook *hook =
	    found.number ? hk_selection_get(&index->selection, found.number, &automatic) : NULL;
	if (!hook) {
		return NULL;
	}
	const struct hk_hook *pattern =
	    found.pattern ? hk_selection_get(&index->selection, found.pattern, &unused) : NULL;
	*ret_stack_rate = hook->stack_rate;
	if (pattern && pattern->level != HK_LEVEL_DEFAULT) {
		automatic = pattern->level;
		*ret_stack_rate = pattern->stack_rate;
	}
	const struct pin *pin = pin_of(index, symbol, provider);
	if (pin) {
		*ret_stack_rate = pin->stack_rate;
	}
	*ret_level = pin ? pin->level : level_of(set, hook, automatic, ret_stack_rate);
	*ret_pinned = pin || index->level_given;
	return hook;
}

uint8_t hk_hookset_level(const struct hk_hookset *set, const char *symbol, const char *provider,
			 uint8_t *ret_pinned, uint32_t *ret_stack_rate)
{
	const struct pin *pin = set->index ? pin_of(set->index, symbol, provider) : NULL;
	*ret_pinned = pin || (set->index && set->index->level_given);
	*ret_stack_rate = pin ? pin->stack_rate : set->default_stack_rate;
	return pin ? pin->level : set->default_level;
}

const struct hk_hook *hk_hookset_change(const struct hk_hookset *set, const char *symbol,
					const char *provider, const char *library)
{
	uint32_t number = search(set, symbol, provider, library).change;
	uint8_t unused;
	return number ? hk_selection_get(&set->index->selection, number, &unused) : NULL;
}

const struct hk_hook *hk_hookset_next_change(const struct hk_hookset *set, uint32_t *at)
{
	while (set->index && *at < set->index->selection.own_count) {
		const struct hk_hook *hook = set->index->selection.own[(*at)++];
		if (hook->action) {
			return hook;
		}
	}
	return NULL;
}
