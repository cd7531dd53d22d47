#include "agent/frame/plain_site.h"

#include <stdatomic.h>

#include "agent/memory/arena.h"
#include "agent/record/process.h"

#define CHAINS 32768u
#define DOMAIN_BYTES 16u /* with the NUL */

/* The hook of all sites of one domain. */
struct domain {
	struct hk_hook hook;
	const struct domain *next;
	char name[DOMAIN_BYTES];
};

/* The process lock guards the writing of all this. */
static _Atomic uint32_t *_Atomic chains; /* index of a site, 0: none; by function and library */
static uint32_t plain_count;
static const struct domain *_Atomic domains;

static bool is_text(const char *kept, struct hk_plain_text text)
{
	size_t at = 0;
	while (at < text.bytes && kept[at] == text.start[at]) {
		at++;
	}
	return at == text.bytes && !kept[at];
}

static char *copy(struct hk_plain_text text)
{
	char *made = hk_arena_take(text.bytes + 1);
	for (size_t i = 0; made && i < text.bytes; i++) {
		made[i] = text.start[i];
	}
	return made;
}

static uint64_t hash_on(uint64_t hash, struct hk_plain_text text)
{
	for (size_t i = 0; i < text.bytes; i++) {
		hash = (hash ^ (uint8_t)text.start[i]) * 1099511628211ULL;
	}
	return hash;
}

static uint32_t chain_of(const struct hk_plain_request *request)
{
	uint64_t hash = hash_on(14695981039346656037ULL, request->function);
	hash = hash_on(hash, request->library);
	return (uint32_t)(hash ^ hash >> 32) % CHAINS;
}

static bool is_same(uint32_t index, const struct hk_plain_request *request)
{
	const struct hk_site_item *site = hk_site_table_item(index);
	return hk_site_table_hot(index)->hook == request->hook &&
	       is_text(site->function, request->function) &&
	       is_text(site->library, request->library);
}

/* Returns the index of the site, or 0. What is in the chains is complete. */
static uint32_t find(const struct hk_plain_request *request, uint32_t chain)
{
	const _Atomic uint32_t *table = atomic_load_explicit(&chains, memory_order_acquire);
	uint32_t at = table ? atomic_load_explicit(&table[chain], memory_order_acquire) : 0;
	while (at && !is_same(at, request)) {
		at = hk_site_table_item(at)->next;
	}
	return at;
}

/* Makes the texts of SITE. Sites of one library are often neighbours. */
static bool make_texts(struct hk_site_item *site, const struct hk_plain_request *request)
{
	const struct hk_site_item *before =
	    plain_count ? hk_site_table_item(HK_PLAIN_FIRST + plain_count - 1) : NULL;
	bool same = before && is_text(before->library, request->library);
	site->function = copy(request->function);
	site->library = same ? before->library : copy(request->library);
	site->provider = request->provider ? request->provider : site->library;
	return site->function && site->library;
}

static uint32_t make(const struct hk_plain_request *request, uint32_t chain)
{
	uint32_t index = HK_PLAIN_FIRST + plain_count;
	if (!chains) {
		chains = hk_arena_take(CHAINS * sizeof(*chains));
	}
	if (!chains || plain_count == HK_PLAIN_SITES || !hk_site_table_make_room(index)) {
		return 0;
	}
	struct hk_site_item *site = hk_site_table_item(index);
	*site = (struct hk_site_item){
	    .own_level = request->level, .own_pinned = request->pinned, .next = chains[chain]};
	if (!make_texts(site, request)) {
		return 0;
	}
	hk_site_table_warm(index, request->hook);
	if (!hk_site_table_add(index)) {
		return 0;
	}
	plain_count++;
	atomic_store_explicit(&chains[chain], index, memory_order_release);
	return index;
}

uint32_t hk_plain_site_define_inside(const struct hk_plain_request *request)
{
	uint32_t chain = chain_of(request), index = find(request, chain);
	if (!index && hk_process.on && !hk_process.sealed && hk_process_lock()) {
		index = find(request, chain);
		index = index ? index : make(request, chain);
		hk_process_unlock();
	}
	return index ? index : HK_PLAIN_NONE;
}

/* Returns whether something may be made: with the lock, memory and calls of the kernel. */
static bool may_make(void)
{
	return hk_process.on && !hk_process.sealed && !hk_in_agent;
}

uint32_t hk_plain_site_define(const struct hk_plain_request *request)
{
	uint32_t index = find(request, chain_of(request));
	if (index || !may_make()) {
		return index ? index : HK_PLAIN_NONE;
	}
	/* A handler that jumped away would leave the process locked. */
	uint64_t signals = hk_process_block_signals();
	hk_in_agent = 1;
	index = hk_plain_site_define_inside(request);
	hk_in_agent = 0;
	hk_process_restore_signals(signals);
	return index;
}

static const struct domain *find_domain(struct hk_plain_text name, uint8_t error)
{
	const struct domain *at = atomic_load_explicit(&domains, memory_order_acquire);
	while (at && (at->hook.error != error || !is_text(at->name, name))) {
		at = at->next;
	}
	return at;
}

static const struct domain *make_domain(struct hk_plain_text name, uint8_t error)
{
	struct domain *made = hk_arena_take(sizeof(*made));
	if (!made) {
		return NULL;
	}
	for (size_t i = 0; i < name.bytes && i + 1 < DOMAIN_BYTES; i++) {
		made->name[i] = name.start[i];
	}
	made->hook = (struct hk_hook){.library = "*",
				      .symbol = "*",
				      .domain = made->name,
				      .flags = HK_HOOK_DESCRIBED,
				      .error = error,
				      .result = HK_TYPE_PTR};
	made->next = domains;
	atomic_store_explicit(&domains, made, memory_order_release);
	return made;
}

const struct hk_hook *hk_plain_site_hook(struct hk_plain_text domain, uint8_t error)
{
	const struct domain *found = find_domain(domain, error);
	if (!found && may_make()) {
		uint64_t signals = hk_process_block_signals();
		hk_in_agent = 1;
		if (hk_process_lock()) {
			found = find_domain(domain, error);
			found = found ? found : make_domain(domain, error);
			hk_process_unlock();
		}
		hk_in_agent = 0;
		hk_process_restore_signals(signals);
	}
	return found ? &found->hook : NULL;
}
