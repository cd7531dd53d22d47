#include "agent/patch/change.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "agent/memory/arena.h"
#include "agent/object/find.h"
#include "agent/patch/constant.h"

#define LIBRARIES 16u
#define OPEN_FOR_LIBC ((int)0x80000000) /* __RTLD_DLOPEN */
#define VARIABLE "__origin_"
#define SYMBOL_MAX 240u

/* An open library of replacements. */
struct library {
	const char *name; /* as written in the line */
	const char *path; /* as known to the loader */
};

/* A replacement in use. */
struct replacement {
	struct replacement *next;
	const struct hk_hook *hook;
	const char *symbol;
	void *address;
};

static struct {
	const struct hk_hookset *set;
	struct library libraries[LIBRARIES];
	uint32_t library_count;
	struct replacement *replacements;
	uint32_t constants;
} changes;

/* ---- start ---- */

static void add_text(char *text, size_t size, const char *more)
{
	size_t used = strlen(text);
	size_t length = strlen(more);
	length = length < size - 1 - used ? length : size - 1 - used;
	memcpy(text + used, more, length);
	text[used + length] = 0;
}

/* libc's dlopen, looked up without a version: newer ones have dlopen itself, older ones its inner
 * part. The program does not see the dlerror of the agent's calls. */
static void *open_library(const char *name)
{
	void *(*open)(const char *, int) =
	    (void *(*)(const char *, int))hk_find_function("*", "dlopen");
	int flags = RTLD_NOW | RTLD_LOCAL;
	if (!open) {
		open = (void *(*)(const char *, int))hk_find_function("*", "__libc_dlopen_mode");
		flags |= OPEN_FOR_LIBC;
	}
	void *handle = open ? open(name, flags) : NULL;
	char *(*error)(void) = (char *(*)(void))hk_find_function("*", "dlerror");
	if (!handle && error) {
		error();
	}
	return handle;
}

static const struct library *library_of(const char *name)
{
	for (uint32_t i = 0; i < changes.library_count; i++) {
		if (strcmp(changes.libraries[i].name, name) == 0) {
			return &changes.libraries[i];
		}
	}
	return NULL;
}

static const struct library *get_library(const char *name)
{
	const struct library *known = library_of(name);
	if (known || changes.library_count == LIBRARIES) {
		return known;
	}
	const struct link_map *map = open_library(name);
	const char *path = map ? hk_arena_text(map->l_name) : NULL;
	if (!path) {
		return NULL;
	}
	struct library *added = &changes.libraries[changes.library_count++];
	*added = (struct library){name, path};
	return added;
}

/* Notes a change, as "replaced libc.so*:getpid" or "no library ./libmine.so for libc.so*:getpid".
 */
static void tell(const struct hk_hook *hook, bool usable, char *text, size_t size)
{
	static const char *const words[] = {[HK_ACTION_REPLACE] = "replaced ",
					    [HK_ACTION_SKIP] = "skipped ",
					    [HK_ACTION_RETURN] = "result set of "};
	add_text(text, size, text[0] ? ", " : "calls changed: ");
	if (!usable) {
		add_text(text, size, "(cannot open ");
		add_text(text, size, hook->with_library);
		add_text(text, size, ") not ");
	}
	add_text(text, size, words[hook->action]);
	add_text(text, size, hook->library);
	add_text(text, size, ":");
	add_text(text, size, hook->symbol);
}

void hk_change_start(const struct hk_hookset *set, char *text, size_t size)
{
	const struct hk_hook *hook;
	uint32_t at = 0;
	text[0] = 0;
	changes.set = NULL;
	while ((hook = hk_hookset_next_change(set, &at))) {
		bool usable = hook->action != HK_ACTION_REPLACE || get_library(hook->with_library);
		tell(hook, usable, text, size);
		changes.set = set;
	}
}

/* ---- in the loader's lock ---- */

static struct replacement *find(const struct hk_hook *hook, const char *symbol)
{
	struct replacement *at = changes.replacements;
	while (at && (at->hook != hook || strcmp(at->symbol, symbol) != 0)) {
		at = at->next;
	}
	return at;
}

/* The original must be known before anybody can call the replacement. */
static void tell_origin(const struct library *library, const char *symbol, void *original)
{
	char name[sizeof(VARIABLE) + SYMBOL_MAX] = VARIABLE;
	if (strlen(symbol) > SYMBOL_MAX) {
		return;
	}
	add_text(name, sizeof(name), symbol);
	void *_Atomic *variable = hk_find_variable_in(library->path, name);
	if (variable) {
		atomic_store(variable, original);
	}
}

static void *replace(const struct hk_hook *hook, const char *symbol, const char *caller,
		     void *original)
{
	const struct library *library = library_of(hook->with_library);
	if (!library || !original || strcmp(library->path, caller) == 0) {
		return NULL;
	}
	const struct replacement *known = find(hook, symbol);
	if (known) {
		return known->address;
	}
	void *address =
	    hk_find_function(library->path, hook->with_symbol ? hook->with_symbol : symbol);
	struct replacement *added = address ? hk_arena_take(sizeof(*added)) : NULL;
	const char *name = added ? hk_arena_text(symbol) : NULL;
	if (!name || address == original) {
		return NULL;
	}
	*added = (struct replacement){changes.replacements, hook, name, address};
	changes.replacements = added;
	tell_origin(library, symbol, original);
	return address;
}

/* Returns the agent's function that returns VALUE. */
static void *constant(uint64_t value)
{
	uint32_t i = 0;
	while (i < changes.constants && hk_constant_values[i] != value) {
		i++;
	}
	if (i == HK_CONSTANTS) {
		return NULL;
	}
	if (i == changes.constants) {
		hk_constant_values[changes.constants++] = value;
	}
	return (void *)(hk_constant_functions + (size_t)i * HK_CONSTANT_BYTES);
}

void *hk_change_target(const char *symbol, const char *provider, const char *caller, void *original)
{
	const struct hk_hook *hook =
	    changes.set ? hk_hookset_change(changes.set, symbol, provider, caller) : NULL;
	if (!hook) {
		return NULL;
	}
	return hook->action == HK_ACTION_REPLACE ? replace(hook, symbol, caller, original)
						 : constant(hook->returns);
}

bool hk_change_is_target(const char *symbol, const void *address)
{
	const char *code = address;
	if (code >= hk_constant_functions &&
	    code < hk_constant_functions + (size_t)HK_CONSTANTS * HK_CONSTANT_BYTES) {
		return true;
	}
	const struct replacement *at = changes.replacements;
	while (at && (at->address != address || strcmp(at->symbol, symbol) != 0)) {
		at = at->next;
	}
	return at != NULL;
}
