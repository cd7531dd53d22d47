#include "agent/patch/redirect.h"

#include <elf.h>
#include <stdatomic.h>
#include <string.h>

#include "agent/frame/site.h"
#include "agent/hooks/hookset.h"
#include "agent/memory/arena.h"
#include "agent/object/program.h"
#include "agent/object/slot.h"
#include "agent/patch/entry.h"
#include "agent/patch/patch.h"
#include "agent/patch/wrapped.h"
#include "hooks/pattern.h"

struct hk_redirection {
	struct hk_redirection *next;
	const char *from, *symbol;
	const char *home; /* path of the object with the replacement, whose calls stay; "": none */
	void *real;	  /* the original; NULL: not found yet */
	void *before;	  /* the replacement before the present one, or NULL */
	void *now;	  /* NULL: the original is called */
	void **original;
};

static struct hk_redirection *redirections;

static struct hk_redirection *find(const char *from, const char *symbol)
{
	struct hk_redirection *at = redirections;
	while (at && (strcmp(at->symbol, symbol) != 0 || strcmp(at->from, from) != 0)) {
		at = at->next;
	}
	return at;
}

static struct hk_redirection *add(const char *from, const char *symbol)
{
	struct hk_redirection *added = hk_arena_take(sizeof(*added));
	const char *from_text = hk_arena_text(from), *symbol_text = hk_arena_text(symbol);
	if (!added || !from_text || !symbol_text) {
		return NULL;
	}
	*added = (struct hk_redirection){
	    .next = redirections, .from = from_text, .symbol = symbol_text, .home = ""};
	redirections = added;
	return added;
}

/* Returns whether the object at CALLER matches FROM; "" is the program. */
static bool comes_from(const char *from, const char *caller)
{
	return *from ? hk_pattern_match_library(from, caller)
		     : strcmp(caller, hk_program_path()) == 0;
}

static bool covers(const struct hk_redirection *redirection, const char *caller)
{
	return comes_from(redirection->from, caller) &&
	       (!*redirection->home || strcmp(redirection->home, caller) != 0);
}

/* The first original that is seen is the redirection's: another function of that name is not. */
static void learn(struct hk_redirection *redirection, void *real)
{
	redirection->real = redirection->real ? redirection->real : real;
	if (redirection->original) {
		__atomic_store_n(redirection->original, redirection->real, __ATOMIC_RELEASE);
	}
}

void *hk_redirect_original(const char *symbol, void *function)
{
	for (const struct hk_redirection *at = redirections; at; at = at->next) {
		if (at->real && strcmp(at->symbol, symbol) == 0 &&
		    (function == at->now || function == at->before)) {
			return at->real;
		}
	}
	return function;
}

/* Returns the newest redirection for calls of SYMBOL, whose original is REAL, from the object at
 * CALLER, or NULL. */
static struct hk_redirection *newest(const char *symbol, const char *caller, const void *real)
{
	struct hk_redirection *at = redirections;
	while (at && (!at->now || strcmp(at->symbol, symbol) != 0 || !covers(at, caller) ||
		      (at->real && at->real != real))) {
		at = at->next;
	}
	return at;
}

static const char *path_at(struct hk_loaded *loaded, void *address)
{
	const struct hk_object *object = hk_loaded_code(loaded, (uintptr_t)address);
	return object ? hk_program_path_of(object) : "";
}

/* Returns the address of a thunk that calls TARGET for REQUEST, or TARGET if no hook wants that. */
static void *target_for(struct hk_site_request *request, const char *caller, void *target)
{
	const struct hk_hookset *set = hk_patch_hookset();
	uint32_t refusal;
	request->original = target;
	request->hook = hk_hookset_find(set, request->function, request->provider, caller,
					&request->level, &request->pinned, &request->stack_rate);
	void *thunk = request->hook && request->level != HK_LEVEL_OFF
			  ? hk_site_bind(request, &refusal)
			  : NULL;
	return thunk ? thunk : target;
}

/* Returns the function that a slot's calls reach in the end, or NULL if that is not certain. */
static void *function_of(struct hk_loaded *loaded, const struct hk_object *object,
			 const struct hk_slot *slot)
{
	void *value = atomic_load_explicit((void *_Atomic *)slot->at, memory_order_acquire);
	if (hk_site_is_thunk(value)) {
		value = hk_site_original(value);
	}
	if (hk_wrapped_is_wrapper(value) || hk_entry_original(value)) {
		return NULL;
	}
	uintptr_t address = (uintptr_t)value;
	const struct hk_object *provider = value ? hk_loaded_code(loaded, address) : NULL;
	const struct hk_object *holder = provider ? provider : hk_loaded_holder(loaded, address);
	switch (hk_slot_classify(object, slot, address, holder && holder != object)) {
	case HK_VALUE_FUNCTION:
		break;
	case HK_VALUE_LAZY:
		return hk_loaded_resolve(loaded, object, slot->symbol, slot->function, &address) ||
			       (hk_loaded_define(loaded, slot->function, &address) && address)
			   ? (void *)address
			   : NULL;
	default:
		return NULL;
	}
	/* A program's PLT entry leads through the program's own slot, which is redirected. */
	const ElfW(Sym) *symbol = provider ? hk_object_find(provider, slot->function) : NULL;
	return symbol && symbol->st_shndx == SHN_UNDEF ? NULL : value;
}

/* Makes the slot call what the redirections want. Returns the one in force, or NULL. */
static struct hk_redirection *redirect_slot(struct hk_loaded *loaded,
					    const struct hk_object *object, const char *path,
					    const struct hk_slot *slot, struct hk_slot_pages *pages)
{
	void *function = function_of(loaded, object, slot);
	void *real = function ? hk_redirect_original(slot->function, function) : NULL;
	if (!real || hk_object_is_variant(slot->symbol) ||
	    hk_hookset_denies(hk_patch_hookset(), slot->function, path_at(loaded, real))) {
		return NULL;
	}
	struct hk_redirection *redirection = newest(slot->function, path, real);
	void *target = redirection ? redirection->now : real;
	if (redirection) {
		learn(redirection, real);
	}
	if (function == target) {
		return redirection;
	}
	bool shared = slot->kind != HK_SLOT_PLT;
	struct hk_site_request request = {
	    .function = slot->function,
	    .library = shared ? "*" : path,
	    .provider = path_at(loaded, real),
	    .slot = shared ? NULL : slot->at,
	    .caller = shared ? (struct hk_span){0, 0} : hk_object_span(object),
	    .shared = shared,
	};
	void *address = target_for(&request, path, target);
	return hk_slot_write(object, pages, slot->at, address) == 0 ? redirection : NULL;
}

/* Redirects the slots of one table for the symbol of REDIRECTION. Returns how many call its
 * replacement. */
static unsigned redirect_table(const struct hk_redirection *redirection, struct hk_loaded *loaded,
			       const struct hk_object *object, const char *path,
			       const struct hk_relocations *table)
{
	struct hk_slot_pages pages = {0, 0};
	unsigned count = 0;
	for (size_t i = 0; i < table->count; i++) {
		struct hk_slot slot;
		if (hk_slot_read(object, table, i, &slot) &&
		    strcmp(slot.function, redirection->symbol) == 0 &&
		    hk_object_holds(object, (uintptr_t)slot.at, sizeof(void *))) {
			count += redirect_slot(loaded, object, path, &slot, &pages) == redirection;
		}
	}
	hk_slot_close(&pages);
	return count;
}

static unsigned redirect_object(const struct hk_redirection *redirection, struct hk_loaded *loaded,
				const struct hk_object *object, const char *path)
{
	return comes_from(redirection->from, path)
		   ? redirect_table(redirection, loaded, object, path, &object->plt) +
			 redirect_table(redirection, loaded, object, path, &object->data)
		   : 0;
}

void hk_redirect_objects(struct hk_loaded *loaded, const struct hk_object *object,
			 const struct hk_known *known)
{
	for (struct hk_redirection *at = redirections; at && known->done; at = at->next) {
		redirect_object(at, loaded, object, known->path);
	}
}

/* Looks the original up if no slot led to it. */
static void settle(struct hk_redirection *redirection, const struct hk_loaded *loaded)
{
	uintptr_t address;
	if (!redirection->real && hk_loaded_define(loaded, redirection->symbol, &address) &&
	    address) {
		learn(redirection, (void *)address);
	}
}

static void move_to_front(struct hk_redirection *redirection)
{
	struct hk_redirection **at = &redirections;
	while (*at != redirection) {
		at = &(*at)->next;
	}
	*at = redirection->next;
	redirection->next = redirections;
	redirections = redirection;
}

/* Makes or changes the redirection that REQUEST asks for. Returns NULL without memory. */
static struct hk_redirection *set(struct hk_loaded *loaded,
				  const struct hk_redirect_request *request)
{
	struct hk_redirection *redirection = find(request->from, request->symbol);
	redirection = redirection ? redirection : add(request->from, request->symbol);
	if (!redirection) {
		return NULL;
	}
	/* dlsym may have given its caller a thunk of the replacement. */
	void *behind = hk_site_original(request->replacement);
	void *replacement = behind ? behind : request->replacement;
	const char *home = replacement ? hk_arena_text(path_at(loaded, replacement)) : NULL;
	redirection->home = home ? home : redirection->home;
	redirection->before = redirection->now ? redirection->now : redirection->before;
	redirection->now = replacement;
	redirection->original = request->original;
	move_to_front(redirection);
	return redirection;
}

int hk_redirect(struct hk_loaded *loaded, const struct hk_knowns *knowns,
		const struct hk_redirect_request *request)
{
	struct hk_redirection *redirection = set(loaded, request);
	int slots = 0;
	for (size_t i = 0; i < loaded->count && redirection; i++) {
		const struct hk_object *object = &loaded->objects[i];
		const struct hk_known *known = hk_known_find(knowns, object, hk_program_path(), i);
		if (known && known->done && !known->skipped) {
			slots += (int)redirect_object(redirection, loaded, object, known->path);
		}
	}
	if (redirection) {
		settle(redirection, loaded);
	}
	return redirection ? slots : -1;
}

bool hk_redirect_wants(const char *symbol)
{
	const struct hk_redirection *at = redirections;
	while (at && (!at->now || strcmp(at->symbol, symbol) != 0)) {
		at = at->next;
	}
	return at != NULL;
}

void *hk_redirect_pointer(const char *symbol, const char *caller, void *address)
{
	void *original = hk_site_is_thunk(address) ? hk_site_original(address) : address;
	struct hk_redirection *redirection = original ? newest(symbol, caller, original) : NULL;
	if (!redirection || original != redirection->real) {
		return address;
	}
	struct hk_site_request request = {
	    .function = redirection->symbol, .library = "*", .provider = "", .shared = true};
	return target_for(&request, caller, redirection->now);
}

void hk_redirect_end(void)
{
	for (struct hk_redirection *at = redirections; at; at = at->next) {
		at->before = at->now ? at->now : at->before;
		at->now = NULL;
	}
}
