#include "agent/wrap/pointer.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "agent/frame/site.h"
#include "agent/hooks/hookset.h"
#include "agent/memory/arena.h"
#include "agent/object/loader.h"
#include "agent/object/object.h"
#include "agent/object/program.h"
#include "agent/patch/change.h"
#include "agent/patch/entry.h"
#include "agent/patch/left.h"
#include "agent/patch/patch.h"
#include "agent/patch/redirect.h"
#include "agent/patch/wrapped.h"
#include "agent/record/process.h"
#include "ring/segment.h"

/* An address to exchange. Objects are views, valid while the loader's lock is held. */
struct exchange {
	const char *name;
	void *address;
	uintptr_t caller;
	void *(*decide)(const struct exchange *exchange);
	bool has_provider, has_user;
	bool held;		   /* ADDRESS lies in a loaded object */
	struct hk_object provider; /* object whose code contains ADDRESS */
	struct hk_object user;	   /* object whose code contains CALLER */
	void *result;
};

bool hk_pointer_wanted(const char *name)
{
	const struct hk_hookset *set = hk_patch_hookset();
	return set && !hk_patch_is_stopped() &&
	       (hk_wrapped_index(name) >= 0 || hk_entry_named(name) ||
		hk_hookset_wants(set, name) || hk_redirect_wants(name));
}

/* ---- in the loader's lock ---- */

static void *escape(const struct exchange *exchange)
{
	hk_patch_escaped(exchange->name);
	return exchange->address;
}

static const char *user_path(const struct exchange *exchange)
{
	return exchange->has_user ? hk_program_path_of(&exchange->user) : "";
}

/* Fills the request for NAME with the hook that wants it. Returns false if there is no such hook.
 */
static bool want(const struct exchange *exchange, const char *name, struct hk_site_request *request)
{
	request->function = name;
	request->provider = exchange->has_provider ? hk_program_path_of(&exchange->provider) : "";
	request->original = exchange->address;
	request->hook =
	    hk_hookset_find(hk_patch_hookset(), name, request->provider, user_path(exchange),
			    &request->level, &request->pinned, &request->stack_rate);
	return request->hook && request->level != HK_LEVEL_OFF;
}

/* The wrapper of an entry point function calls its thunk, if it has one. */
static void *with_entry_wrapper(const char *name, void *address)
{
	void *wrapper = hk_entry_named(name) ? hk_entry_wrap(address) : NULL;
	return wrapper ? wrapper : address;
}

static void *exchange_bound(const struct exchange *exchange, const struct hk_site_request *request)
{
	struct hk_site_request bound = *request;
	uint32_t refusal;
	void *target =
	    hk_change_target(bound.function, bound.provider, user_path(exchange), bound.original);
	bound.original = target ? target : hk_wrapped_around(bound.function, bound.original);
	void *thunk = hk_site_bind(&bound, &refusal);
	if (!thunk && target) {
		return target;
	}
	return thunk ? thunk : escape(exchange);
}

static bool defines(const struct hk_object *object, const char *name)
{
	const ElfW(Sym) *symbol = hk_object_find(object, name);
	return symbol && symbol->st_shndx != SHN_UNDEF;
}

enum symbol_is { CALLABLE, POINTER, DATA, STAND_IN };

/* POINTER: no thunk may replace the function, because the host may compare its address with one
 * from elsewhere. That is so for a function that the caller defines itself, and for an undescribed
 * function whose address is in a slot or belongs to the program. */
static enum symbol_is judge(const struct exchange *exchange, bool described)
{
	if (!exchange->has_provider) {
		/* Data matches patterns too. Addresses outside all objects belong to other
		 * namespaces or to generated code. */
		return exchange->held ? DATA : POINTER;
	}
	const ElfW(Sym) *symbol = hk_object_find(&exchange->provider, exchange->name);
	unsigned type = symbol ? ELF64_ST_TYPE(symbol->st_info) : STT_NOTYPE;
	if (symbol && symbol->st_shndx == SHN_UNDEF) {
		/* The address is the program's own PLT entry, whose slot is hooked. */
		return STAND_IN;
	}
	if (type == STT_OBJECT || type == STT_TLS || type == STT_COMMON) {
		return DATA;
	}
	if (symbol && hk_object_is_variant(symbol)) {
		return POINTER;
	}
	if (exchange->has_user && defines(&exchange->user, exchange->name)) {
		return POINTER;
	}
	bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
	bool compared = !exchange->provider.name[0] || hk_left_has(exchange->address);
	return described || (function && !compared) ? CALLABLE : POINTER;
}

static void *decide_symbol(const struct exchange *exchange)
{
	struct hk_site_request request = {.library = "*", .shared = true};
	int dl = hk_wrapped_index(exchange->name);
	bool wanted = want(exchange, exchange->name, &request);
	if (dl >= 0 && !(wanted && hk_wrapped_yields(dl))) {
		bool passes = exchange->has_user && defines(&exchange->user, exchange->name);
		return passes ? exchange->address
			      : hk_wrapped_around(exchange->name, exchange->address);
	}
	if (!wanted) {
		return with_entry_wrapper(exchange->name, exchange->address);
	}
	switch (judge(exchange, request.hook->flags & HK_HOOK_DESCRIBED)) {
	case CALLABLE:
		return with_entry_wrapper(exchange->name, exchange_bound(exchange, &request));
	case POINTER:
		return escape(exchange);
	default:
		return exchange->address;
	}
}

/* A hook for a function of which only the domain and the level are known. */
static const struct hk_hook *without_arguments(const struct hk_hook *hook)
{
	static struct bare {
		struct bare *next;
		const struct hk_hook *of;
		struct hk_hook hook;
	} * bare;
	for (struct bare *at = bare; at; at = at->next) {
		if (at->of == hook) {
			return &at->hook;
		}
	}
	struct bare *added = hk_arena_take(sizeof(*added));
	if (!added) {
		return NULL;
	}
	added->of = hook;
	added->hook = (struct hk_hook){
	    .library = hook->library,
	    .symbol = hook->symbol,
	    .domain = hook->domain,
	    .level = hook->level,
	    .stack_rate = hook->stack_rate,
	    .auto_level = hook->auto_level,
	    .stack_words = HK_HOOK_STACK_UNKNOWN,
	    .line = hook->line,
	};
	added->next = bare;
	bare = added;
	return &added->hook;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Returns the name of the provider's symbol at the address, or NULL if it is not exported. A name
 * that a line describes has priority, then one that begins with the requested name. */
static const char *exported(const struct exchange *exchange)
{
	const struct hk_object *object = &exchange->provider;
	uintptr_t value = (uintptr_t)exchange->address - object->base;
	size_t count = hk_object_symbol_count(object);
	const char *best = NULL;
	unsigned best_rank = 0;
	for (size_t i = 1; i < count; i++) {
		const ElfW(Sym) *symbol = &object->symbols[i];
		const char *name;
		if (symbol->st_value != value || symbol->st_shndx == SHN_UNDEF ||
		    ELF64_ST_TYPE(symbol->st_info) != STT_FUNC ||
		    !(name = hk_object_symbol(object, i, &symbol))) {
			continue;
		}
		struct hk_site_request request = {.library = ""};
		bool described =
		    want(exchange, name, &request) && request.hook->flags & HK_HOOK_DESCRIBED;
		unsigned rank = 1 + (described ? 2 : 0) + begins(name, exchange->name);
		if (rank > best_rank) {
			best = name;
			best_rank = rank;
		}
	}
	return best;
}

/* Returns whether any version of the requested function is wanted. The request then gets a hook
 * without arguments, if the function's object is known. */
static bool want_version(const struct exchange *exchange, struct hk_site_request *request)
{
	const struct hk_hookset *set = hk_patch_hookset();
	static const char *const endings[] = {"",      "_v2",	   "_v3",      "_v4",
					      "_ptsz", "_v2_ptsz", "_v3_ptsz", "_v2_ptds"};
	char name[128];
	size_t length = strlen(exchange->name);
	if (length + 16 > sizeof(name)) {
		return false;
	}
	memcpy(name, exchange->name, length);
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		memcpy(name + length, endings[i], strlen(endings[i]) + 1);
		if (!exchange->has_provider && hk_hookset_wants(set, name) &&
		    !hk_hookset_denies(set, name, "")) {
			return true;
		}
		if (exchange->has_provider && want(exchange, name, request)) {
			request->function = exchange->name;
			request->hook = without_arguments(request->hook);
			return request->hook != NULL;
		}
	}
	return false;
}

static void *decide_entry(const struct exchange *exchange)
{
	struct hk_site_request request = {.library = user_path(exchange)};
	if (exchange->has_user) {
		request.caller = hk_object_span(&exchange->user);
	}
	const char *symbol = exchange->has_provider ? exported(exchange) : NULL;
	bool wanted = symbol ? want(exchange, symbol, &request) : want_version(exchange, &request);
	void *result = !wanted			? exchange->address
		       : exchange->has_provider ? exchange_bound(exchange, &request)
						: escape(exchange);
	return with_entry_wrapper(exchange->name, result);
}

/* ---- */

static int find_objects(struct dl_phdr_info *info, size_t size, void *data)
{
	struct exchange *exchange = data;
	const struct hk_object segments = {
	    .base = info->dlpi_addr, .phdr = info->dlpi_phdr, .phdr_count = info->dlpi_phnum};
	(void)size;
	exchange->held |= hk_object_holds(&segments, (uintptr_t)exchange->address, 1);
	if (hk_object_executes(&segments, (uintptr_t)exchange->address)) {
		exchange->has_provider = hk_object_read(info, &exchange->provider) == 0;
	}
	if (hk_object_executes(&segments, exchange->caller)) {
		exchange->has_user = hk_object_read(info, &exchange->user) == 0;
	}
	return exchange->has_provider && exchange->has_user;
}

/* The outer iteration holds the loader's lock from the search to the decision. */
static int exchange_locked(struct dl_phdr_info *info, size_t size, void *data)
{
	struct exchange *exchange = data;
	/* Sites of unloaded objects must not be used for new ones. */
	hk_patch_refresh(info);
	(void)size;
	if (hk_patch_is_stopped()) {
		return 1;
	}
	hk_loader_iterate(find_objects, exchange);
	exchange->result =
	    hk_redirect_pointer(exchange->name, user_path(exchange), exchange->decide(exchange));
	return 1;
}

static void *run(struct exchange *exchange)
{
	if (hk_in_agent == 1) {
		return exchange->address; /* a signal handler interrupted the agent */
	}
	int saved_errno = errno;
	uint64_t signals = hk_process_block_signals();
	uint32_t inside = hk_in_agent;
	hk_in_agent = 1;
	exchange->result = exchange->address;
	hk_loader_iterate(exchange_locked, exchange);
	hk_in_agent = inside;
	hk_process_restore_signals(signals);
	errno = saved_errno;
	return exchange->result;
}

void *hk_pointer_of_symbol(const char *name, void *address, const void *caller)
{
	if (hk_site_is_thunk(address) || hk_entry_original(address)) {
		return address;
	}
	struct exchange exchange = {
	    .name = name, .address = address, .caller = (uintptr_t)caller, .decide = decide_symbol};
	return run(&exchange);
}

void *hk_pointer_of_entry(const char *name, void *address, const void *caller)
{
	if (!hk_patch_hookset() || hk_patch_is_stopped() || hk_entry_original(address)) {
		return address;
	}
	/* A runtime passes on a function of the driver: the calls then belong to the runtime's
	 * caller. */
	void *original = hk_site_original(address);
	struct exchange exchange = {.name = name,
				    .address = original ? original : address,
				    .caller = (uintptr_t)caller,
				    .decide = decide_entry};
	return run(&exchange);
}
