#include "agent/frame/site.h"

#include <stddef.h>

#include "agent/frame/hot.h"
#include "agent/frame/plan.h"
#include "agent/frame/site_table.h"
#include "agent/frame/spare.h"
#include "agent/memory/arena.h"
#include "agent/object/slot.h"
#include "agent/record/process.h"
#include "ring/kernel.h"

#define CHAINS HK_THUNKS
#define SITES_TO_COME 1024u /* in a process with a limit of its address space */
#define PAGE_BYTES 65536u   /* a multiple of any kernel's page size */

static_assert(offsetof(struct hk_site_hot, original) == HK_HOT_ORIGINAL, "layout.h");
static_assert(offsetof(struct hk_site_hot, domain) == HK_HOT_DOMAIN, "layout.h");
static_assert(offsetof(struct hk_site_hot, index) == HK_HOT_INDEX, "layout.h");
static_assert(offsetof(struct hk_site_hot, stack_words) == HK_HOT_STACK_WORDS, "layout.h");
static_assert(offsetof(struct hk_site_hot, control) == HK_HOT_CONTROL, "layout.h");
static_assert(offsetof(struct hk_site_hot, flags) == HK_HOT_FLAGS, "layout.h");
static_assert(HK_HOT_LAZY == 1u << HK_HOT_LAZY_BIT, "layout.h");
static_assert(HK_HOT_RECORD == HK_FLAG_RECORD && HK_HOT_UNUSUAL == HK_FLAG_UNUSUAL &&
		  HK_HOT_NULL == HK_FLAG_NULL && HK_HOT_QUICK == HK_FLAG_QUICK &&
		  HK_HOT_LAZY == HK_FLAG_LAZY,
	      "layout.h");
static_assert(offsetof(struct hk_site_hot, payload) == HK_HOT_PAYLOAD, "layout.h");
static_assert(offsetof(struct hk_site_hot, word) == HK_HOT_WORD, "layout.h");
static_assert(offsetof(struct hk_site_hot, stream) == HK_HOT_STREAM, "layout.h");
static_assert(offsetof(struct hk_site_hot, word1) == HK_HOT_WORD1, "layout.h");
static_assert(HK_HOT_NUMBER == HK_HOT_WORD1 + HK_RECORD_SITE_SHIFT / 8 &&
		  HK_NUMBER_MASK == HK_SITES_MAX - 1,
	      "layout.h");
static_assert(offsetof(struct hk_site_hot, copied_words) == HK_HOT_COPIED_WORDS, "layout.h");
static_assert(offsetof(struct hk_site_hot, exit) == HK_HOT_EXIT, "layout.h");
static_assert(offsetof(struct hk_site_hot, step) == HK_HOT_STEP, "layout.h");
static_assert(sizeof(struct hk_site_hot) == HK_HOT_BYTES, "layout.h");

extern const char hk_thunks[]; /* trampoline.S */
#if defined(__x86_64__)
extern const char hk_thunks_light[];
#endif

/* The process lock guards all of this. */
/* Slots of lazy sites; NULL: not lazy. trampoline_aarch64.S passes it to the loader's stub. */
void **hk_lazy_slots[HK_THUNKS];
static uint32_t site_count, site_limit = HK_SITES_BOUND;
static uint32_t live;		/* site + 1; newest first */
static uint32_t chains[CHAINS]; /* site + 1, by function and library */

static struct hk_site_item *site_at(uint32_t index)
{
	return hk_site_table_item(index);
}

static struct hk_site_hot *hot_at(uint32_t index)
{
	return hk_site_table_hot(index);
}

/* Spare thunks have no lazy slots: their calls do not come back. */
static void set_lazy_slot(uint32_t index, void **slot)
{
	if (index < HK_SPARE_FIRST) {
		hk_lazy_slots[index] = slot;
	}
}

static uint32_t *chain_of(const struct hk_site_item *site)
{
	uint64_t value = 14695981039346656037ULL;
	for (const char *in = site->function; *in; in++) {
		value = (value ^ (uint8_t)*in) * 1099511628211ULL;
	}
	for (const char *in = site->library; *in; in++) {
		value = (value ^ (uint8_t)*in) * 1099511628211ULL;
	}
	return &chains[(value ^ value >> 32) % CHAINS];
}

/* Returns whether calls through the slot of REQUEST are calls of site INDEX: both lead to the same
 * original, or the first call left the slot to the loader. */
static bool is_same(uint32_t index, const struct hk_site_request *request)
{
	const struct hk_site_item *site = site_at(index);
	void **lazy_slot = index < HK_SPARE_FIRST ? hk_lazy_slots[index] : NULL;
	return !site->retired && site->shared == request->shared &&
	       (lazy_slot ? lazy_slot == request->slot
			  : hot_at(index)->original == request->original && !request->lazy) &&
	       hk_site_table_same(site->function, request->function) &&
	       hk_site_table_same(site->library, request->library);
}

/* Returns whether REQUEST asks for retired site INDEX: its object was loaded again, at any address.
 */
static bool is_back(uint32_t index, const struct hk_site_request *request)
{
	const struct hk_site_item *site = site_at(index);
	return site->retired && site->shared == request->shared &&
	       hot_at(index)->hook == request->hook &&
	       hk_site_table_same(site->function, request->function) &&
	       hk_site_table_same(site->library, request->library) &&
	       hk_site_table_same(site->provider, request->provider);
}

/* Returns the site + 1 with the names of REQUEST for which IS is true, or 0. */
static uint32_t find(const struct hk_site_request *request,
		     bool (*is)(uint32_t index, const struct hk_site_request *request))
{
	const struct hk_site_item key = {.function = request->function,
					 .library = request->library};
	uint32_t at = *chain_of(&key);
	while (at && !is(at - 1, request)) {
		at = site_at(at - 1)->next;
	}
	return at;
}

static void *thunk_of(uint32_t index)
{
	return index < HK_SPARE_FIRST
		   ? (void *)(uintptr_t)(hk_thunks + (uint64_t)index * HK_THUNK_BYTES)
		   : hk_spare_thunk(index);
}

static bool is_lazy(uint32_t index)
{
	return hot_at(index)->flags & HK_HOT_LAZY;
}

/* Stores the original that the loader found for lazy site INDEX. */
static void resolve(uint32_t index, void *original)
{
	struct hk_site_hot *hot = hot_at(index);
	__atomic_store_n(&hot->original, original, __ATOMIC_RELEASE);
	/* Stored after the original: a call that does not see the site as lazy must not find the
	 * stub. */
	__atomic_store_n(&hot->flags, hk_plan_flags(hot), __ATOMIC_RELEASE);
	__atomic_store_n(&hot->control, hk_site_table_control(hot, site_at(index)->level),
			 __ATOMIC_RELEASE);
	set_lazy_slot(index, NULL);
}

/* Makes the site of REQUEST at INDEX, not yet in a chain and not yet counted. */
static bool make(const struct hk_site_request *request, uint32_t index)
{
	struct hk_site_item *site = site_at(index);
	*site = (struct hk_site_item){.function = hk_arena_text(request->function),
				      .library = hk_arena_text(request->library),
				      .provider = hk_arena_text(request->provider),
				      .own_level = request->level,
				      .own_pinned = request->pinned,
				      .own_stack_rate = request->stack_rate,
				      .caller = request->caller,
				      .shared = request->shared};
	if (!site->function || !site->library || !site->provider) {
		return false;
	}
	set_lazy_slot(index, request->lazy ? request->slot : NULL);
	struct hk_site_hot *hot = hk_site_table_warm(index, request->hook);
	hot->original = request->original;
	if (request->lazy) {
		/* The first call must return to the agent at every level. */
		hot->flags |= HK_HOT_LAZY | HK_HOT_UNUSUAL;
	}
	return hk_site_table_add(index);
}

static void enliven(uint32_t index)
{
	site_at(index)->next_live = live;
	live = index + 1;
}

/* Earlier calls may still be running. They are not affected. */
static void revive(const struct hk_site_request *request, uint32_t index)
{
	struct hk_site_item *site = site_at(index);
	struct hk_site_hot *hot = hot_at(index);
	site->retired = false;
	site->caller = request->caller;
	site->own_level = request->level;
	site->own_pinned = request->pinned;
	site->own_stack_rate = request->stack_rate;
	set_lazy_slot(index, request->lazy ? request->slot : NULL);
	__atomic_store_n(&hot->original, request->original, __ATOMIC_RELEASE);
	uint8_t lazy = request->lazy ? HK_HOT_LAZY | HK_HOT_UNUSUAL : 0;
	__atomic_store_n(&hot->flags, hk_plan_flags(hot) | lazy, __ATOMIC_RELEASE);
	hk_site_table_relevel(index);
	enliven(index);
}

static void *bind(const struct hk_site_request *request, uint32_t *ret_refusal)
{
	uint32_t found = find(request, is_same);
	if (found) {
		if (is_lazy(found - 1) && !request->lazy) {
			resolve(found - 1, request->original);
		}
		return thunk_of(found - 1);
	}
	found = find(request, is_back);
	if (found) {
		revive(request, found - 1);
		return thunk_of(found - 1);
	}
	/* A spare thunk serves neither a slot that its first call gives to the loader nor a name.
	 */
	bool spare = site_count >= HK_SPARE_FIRST;
	if (site_count == site_limit || (spare && (request->lazy || !request->original))) {
		*ret_refusal = HK_REFUSED_THUNKS;
		return NULL;
	}
	uint32_t index = site_count;
	if (!hk_site_table_make_room(index) || !make(request, index)) {
		*ret_refusal = HK_REFUSED_MEMORY;
		return NULL;
	}
	uint32_t *chain = chain_of(site_at(index));
	site_at(index)->next = *chain;
	*chain = index + 1;
	enliven(index);
	site_count++;
	return thunk_of(index);
}

void *hk_site_bind(const struct hk_site_request *request, uint32_t *ret_refusal)
{
	void *thunk = NULL;
	*ret_refusal = HK_REFUSED_MEMORY;
	if (hk_process.on && hk_process_lock()) {
		/* Tracing may have ended meanwhile. */
		thunk = hk_process.on ? bind(request, ret_refusal) : NULL;
		hk_process_unlock();
	}
	return thunk;
}

/* Frees the memory of items FROM up to TO, excluding TO, of a table with BYTES per item. */
static void cut_table(const void *table, uint64_t bytes, uint32_t from, uint32_t to)
{
	uint64_t start = (uint64_t)table + from * bytes, end = (uint64_t)table + to * bytes;
	start = (start + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
	end = end / PAGE_BYTES * PAGE_BYTES;
	if (start < end) {
		hk_kernel(SYS_munmap, start, end - start, 0, 0, 0, 0);
	}
}

void hk_site_cut(void)
{
	uint32_t wanted = site_count + SITES_TO_COME;
	if (wanted >= HK_CALIBRATION_SITE) {
		return;
	}
	site_limit = wanted;
	cut_table(hk_thunks, HK_THUNK_BYTES, wanted, HK_CALIBRATION_SITE);
#if defined(__x86_64__)
	cut_table(hk_thunks_light, HK_LIGHT_BYTES, wanted, HK_CALIBRATION_SITE);
#endif
	cut_table(hk_hot, sizeof(hk_hot[0]), wanted, HK_CALIBRATION_SITE);
	cut_table(hk_spare_thunk(HK_SPARE_FIRST), HK_SPARE_THUNK_BYTES, 0, HK_SPARE_THUNKS);
}

uint32_t hk_site_index(const void *thunk)
{
	uintptr_t at = (uintptr_t)thunk - (uintptr_t)hk_thunks;
	return at < (uintptr_t)HK_SPARE_FIRST * HK_THUNK_BYTES ? (uint32_t)(at / HK_THUNK_BYTES)
							       : hk_spare_site(thunk);
}

bool hk_site_is_thunk(const void *address)
{
	return hk_site_index(address) < HK_SITES_BOUND;
}

void *hk_site_original(const void *thunk)
{
	uint32_t index = hk_site_index(thunk);
	bool known = index < HK_SPARE_FIRST || (index < HK_SITES_BOUND && hk_spare_hot);
	return known ? hot_at(index)->original : NULL;
}

/* The site for calibration has no name. */
static bool is_named(uint32_t index)
{
	return index < HK_SPARE_FIRST && index < site_count;
}

const char *hk_site_function(uint32_t index)
{
	return is_named(index) ? site_at(index)->function : "";
}

const char *hk_site_library(uint32_t index)
{
	return is_named(index) ? site_at(index)->library : "";
}

bool hk_site_rearm(uint32_t index, uintptr_t return_address)
{
	if (!hk_process_lock()) {
		return true;
	}
	bool lazy = is_lazy(index);
	/* The code that continues is loaded, and so is its slot. */
	bool there = hk_span_holds(site_at(index)->caller, return_address);
	if (lazy && there && hk_process.on) {
		void *original = hk_slot_rearm(hk_lazy_slots[index], thunk_of(index));
		if (original) { /* not resolved yet: another call is still running */
			resolve(index, original);
		}
	}
	hk_process_unlock();
	return !lazy || there || !hk_process.on;
}

static void retire(uint32_t index)
{
	site_at(index)->retired = true;
	set_lazy_slot(index, NULL);
	/* Calls may still be running although their caller was unloaded. */
	uint8_t flags = hot_at(index)->flags & (uint8_t)~HK_HOT_LAZY;
	__atomic_store_n(&hot_at(index)->flags, flags, __ATOMIC_RELEASE);
}

void hk_site_retire(struct hk_span span)
{
	if (!hk_process_lock()) {
		return;
	}
	for (uint32_t *at = &live; *at;) {
		uint32_t index = *at - 1;
		struct hk_site_item *site = site_at(index);
		if (hk_span_holds(span, (uintptr_t)hot_at(index)->original) ||
		    (site->caller.end && site->caller.start == span.start)) {
			*at = site->next_live;
			retire(index);
		} else {
			at = &site->next_live;
		}
	}
	hk_process_unlock();
}

void hk_site_resume(bool same_hooks, hk_site_level *level)
{
	for (uint32_t i = 0; i < site_count && !same_hooks; i++) {
		retire(i);
	}
	live = same_hooks ? live : 0;
	hk_site_table_renew(level);
	hk_site_table_relevel_all();
}
