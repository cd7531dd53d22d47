#define HOOKTRACE_AGENT
#include "agent/sites.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "agent/call/plain_call.h"
#include "agent/frame/plain_site.h"
#include "agent/frame/site.h"
#include "agent/hooks/hookset.h"
#include "agent/hooktrace.h"
#include "agent/object/loader.h"
#include "agent/object/slot.h"
#include "agent/record/process.h"

#define EXPORTED __attribute__((visibility("default")))
#define FUNCTION_BYTES 4095u
#define LIBRARY_BYTES 1023u
#define DOMAIN_BYTES 15u

static_assert(sizeof(struct hk_open) == sizeof(struct hk_plain_call), "hooktrace.h");
static_assert(HK_NO_SITE == HK_PLAIN_NONE, "hooktrace.h");

static const struct hk_hookset *sites_hookset;

void hk_sites_start(const struct hk_hookset *hookset)
{
	sites_hookset = hookset;
}

uint8_t hk_sites_level(const char *function, const char *library, uint8_t *ret_pinned)
{
	uint32_t stack_rate; /* a plain call keeps no stack */
	return hk_hookset_level(sites_hookset, function, library, ret_pinned, &stack_rate);
}

/* Returns as much of TEXT as counts. No NULL: then OTHERWISE. */
static struct hk_plain_text cut(const char *text, const char *otherwise, size_t most)
{
	struct hk_plain_text cut = {text && *text ? text : otherwise, 0};
	while (cut.bytes < most && cut.start[cut.bytes]) {
		cut.bytes++;
	}
	return cut;
}

EXPORTED uint32_t hk_site_define(const struct hk_site_text *text)
{
	if (!hk_process.on || !text) {
		return HK_NO_SITE;
	}
	struct hk_plain_text domain = cut(text->domain, "user", DOMAIN_BYTES);
	struct hk_plain_request request = {
	    .hook = hk_plain_site_hook(domain, HK_ERROR_NEVER),
	    .function = cut(text->function, "?", FUNCTION_BYTES),
	    .library = cut(text->library, "*", LIBRARY_BYTES),
	};
	request.level =
	    hk_sites_level(request.function.start, request.library.start, &request.pinned);
	uint32_t site = request.hook ? hk_plain_site_define(&request) : HK_PLAIN_NONE;
	if (site == HK_PLAIN_NONE) {
		hk_process_untracked();
	}
	return site;
}

EXPORTED int hk_is_on(uint32_t site)
{
	return hk_plain_call_is_on(site);
}

/* ---- functions at pointers ---- */

struct exchange {
	void **slot;
	void *thunk;
	bool done;
};

/* Writes to a slot in the part of an object that is read-only once it is relocated. */
static int write_relro(struct dl_phdr_info *info, size_t size, void *context)
{
	struct exchange *exchange = context;
	struct hk_slot_pages pages = {0, 0};
	struct hk_object object;
	uintptr_t address = (uintptr_t)exchange->slot;

	(void)size;
	if (hk_object_read(info, &object) < 0 || address < object.relro ||
	    address >= object.relro_end) {
		return 0;
	}
	exchange->done = hk_slot_write(&object, &pages, exchange->slot, exchange->thunk) == 0;
	hk_slot_close(&pages);
	return 1;
}

static int is_in_relro(struct dl_phdr_info *info, size_t size, void *slot)
{
	struct hk_object object;

	(void)size;
	return hk_object_read(info, &object) == 0 && (uintptr_t)slot >= object.relro &&
	       (uintptr_t)slot < object.relro_end;
}

static void keep_text(char *to, struct hk_plain_text text)
{
	memcpy(to, text.start, text.bytes);
	to[text.bytes] = 0;
}

/* Returns the thunk for the function at SLOT, or NULL. */
static void *bind_pointer(void *function, const struct hk_hook *hook,
			  const struct hk_site_text *text)
{
	char name[FUNCTION_BYTES + 1], library[LIBRARY_BYTES + 1];
	uint32_t refusal;

	keep_text(name, cut(text->function, "?", FUNCTION_BYTES));
	keep_text(library, cut(text->library, "*", LIBRARY_BYTES));
	struct hk_site_request request = {
	    .hook = hook,
	    .function = name,
	    .library = library,
	    .provider = library,
	    .original = function,
	    .shared = true,
	};
	request.level =
	    hk_hookset_level(sites_hookset, name, library, &request.pinned, &request.stack_rate);
	return hk_site_bind(&request, &refusal);
}

static bool hook_slot(void **slot, const struct hk_hook *hook, const struct hk_site_text *text)
{
	struct exchange exchange = {.slot = slot};
	bool writable = hk_slot_writable(slot);

	if (!writable && hk_loader_iterate(is_in_relro, slot) != 1) {
		return false;
	}
	void *function = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
	if (!function || hk_site_is_thunk(function)) {
		return function;
	}
	exchange.thunk = bind_pointer(function, hook, text);
	if (exchange.thunk && writable) {
		__atomic_store_n(slot, exchange.thunk, __ATOMIC_RELEASE);
		exchange.done = true;
	} else if (exchange.thunk) {
		hk_loader_iterate(write_relro, &exchange);
	}
	return exchange.done;
}

EXPORTED int hk_hook_pointer(void **slot, const struct hk_site_text *text)
{
	if (!hk_process.on || hk_process.sealed || hk_in_agent || !text || !slot ||
	    (uintptr_t)slot % sizeof(*slot)) {
		return 0;
	}
	const struct hk_hook *hook =
	    hk_plain_site_hook(cut(text->domain, "user", DOMAIN_BYTES), HK_ERROR_NULL);
	uint64_t signals = hk_process_block_signals();
	hk_in_agent = 1;
	bool hooked = hook && hook_slot(slot, hook, text);
	hk_in_agent = 0;
	hk_process_restore_signals(signals);
	return hooked;
}
