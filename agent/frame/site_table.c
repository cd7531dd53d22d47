#include "agent/frame/site_table.h"

#include <stddef.h>

#include "agent/frame/limit.h"
#include "agent/frame/plan.h"
#include "agent/frame/rules.h"
#include "agent/memory/arena.h"
#include "agent/record/process.h"
#include "hooks/signature.h"

#define DOMAINS_MAX 64u
#define ITEMS_PER_CHUNK 1024u

static_assert(HK_INDEX_BOUND <= HK_SITES_MAX, "records have no larger numbers");
static_assert(HK_INDEX_BOUND % ITEMS_PER_CHUNK == 0, "whole chunks");

struct hk_site_hot hk_hot[HK_THUNKS] __attribute__((aligned(64)));

/* 1 when the clock is a function and not an instruction; read by trampoline.S. */
uint8_t hk_clock_by_call;

struct chunk {
	struct hk_site_item item[ITEMS_PER_CHUNK];
};
struct number_chunk {
	struct hk_site_hot *_Atomic hot[ITEMS_PER_CHUNK];
};

/* The process lock guards the writing of all this. What is in it never moves. */
static struct chunk *_Atomic chunks[HK_INDEX_BOUND / ITEMS_PER_CHUNK];
struct hk_site_hot *hk_plain_hot[HK_PLAIN_SITES / HK_PLAIN_CHUNK];
static struct number_chunk *_Atomic number_chunks[HK_INDEX_BOUND / ITEMS_PER_CHUNK];
static uint32_t count; /* sites, and the number of the next one */
static const char *domains[DOMAINS_MAX];
static uint32_t domain_count;

struct hk_site_item *hk_site_table_item(uint32_t index)
{
	return &chunks[index / ITEMS_PER_CHUNK]->item[index % ITEMS_PER_CHUNK];
}

struct hk_site_hot *hk_site_table_hot(uint32_t index)
{
	if (index >= HK_PLAIN_FIRST) {
		uint32_t plain = index - HK_PLAIN_FIRST;
		return &hk_plain_hot[plain / HK_PLAIN_CHUNK][plain % HK_PLAIN_CHUNK];
	}
	return index < HK_SPARE_FIRST ? &hk_hot[index] : &hk_spare_hot[index - HK_SPARE_FIRST];
}

struct hk_site_hot *hk_site_table_find(uint32_t number)
{
	struct number_chunk *chunk =
	    number < HK_INDEX_BOUND ? atomic_load_explicit(&number_chunks[number / ITEMS_PER_CHUNK],
							   memory_order_acquire)
				    : NULL;
	return chunk ? atomic_load_explicit(&chunk->hot[number % ITEMS_PER_CHUNK],
					    memory_order_acquire)
		     : NULL;
}

uint32_t hk_site_table_count(void)
{
	return count;
}

/* Makes room for what calls read of the site at INDEX. */
static bool make_hot_room(uint32_t index)
{
	uint32_t plain = index - HK_PLAIN_FIRST;
	if (index < HK_PLAIN_FIRST) {
		return index < HK_SPARE_FIRST || hk_spare_begin();
	}
	struct hk_site_hot **chunk = &hk_plain_hot[plain / HK_PLAIN_CHUNK];
	if (!*chunk) {
		struct hk_site_hot *made = hk_arena_take(HK_PLAIN_CHUNK * sizeof(*made));
		for (uint32_t i = 0; made && i < HK_PLAIN_CHUNK; i++) {
			made[i].control = HK_CONTROL_PASS; /* no site yet */
		}
		__atomic_store_n(chunk, made, __ATOMIC_RELEASE);
	}
	return *chunk != NULL;
}

bool hk_site_table_make_room(uint32_t index)
{
	struct chunk *_Atomic *items = &chunks[index / ITEMS_PER_CHUNK];
	struct number_chunk *_Atomic *numbers = &number_chunks[count / ITEMS_PER_CHUNK];
	if (!*items) {
		*items = hk_arena_take(sizeof(**items));
	}
	if (!*numbers) {
		*numbers = hk_arena_take(sizeof(**numbers));
	}
	return *items && *numbers && make_hot_room(index);
}

bool hk_site_table_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Returns the bit of domain NAME. Domains beyond the number of bits share the last one. */
static uint64_t domain_bit(const char *name)
{
	for (uint32_t i = 0; i < domain_count; i++) {
		if (hk_site_table_same(domains[i], name)) {
			return 1ULL << i;
		}
	}
	if (domain_count == DOMAINS_MAX) {
		return 1ULL << (DOMAINS_MAX - 1);
	}
	domains[domain_count] = name;
	return 1ULL << domain_count++;
}

uint8_t hk_site_table_control(const struct hk_site_hot *hot, uint8_t level)
{
	switch (level) {
	case HK_LEVEL_OFF:
		return HK_CONTROL_PASS;
	case HK_LEVEL_COUNT:
	case HK_LEVEL_SAMPLE:
		return HK_CONTROL_LIGHT;
	default:
		return (hot->stack_words & HK_STACK_WORDS_STAY) ? HK_CONTROL_STAY
								: HK_CONTROL_FRAME;
	}
}

static bool is_memory(uint8_t meaning)
{
	return meaning >= HK_MEANING_ALLOC && meaning <= HK_MEANING_REMAP;
}

struct hk_site_hot *hk_site_table_warm(uint32_t index, const struct hk_hook *hook)
{
	struct hk_site_hot *hot = hk_site_table_hot(index);
	hot->domain = domain_bit(hook->domain);
	hot->index = index;
	hot->copied_words = hook->stack_words;
	/* A plain site has no function whose end could be the end of a stretch of work. */
	hot->stack_words = index < HK_PLAIN_FIRST ? hk_plan_stack_words(hook) : 0;
	hot->exit = hk_plan_exit(hook);
	hot->stream = is_memory(hook->meaning) ? HK_STREAM_MEMORY : HK_STREAM_CALLS;
	hot->level = hk_site_table_item(index)->own_level;
	hot->hook = hook;
	hk_plan_site(hot, count);
	return hot;
}

static bool publish(const struct hk_site_hot *hot)
{
	uint32_t number = hk_hot_number(hot);
	struct hk_site_item *site = hk_site_table_item(hot->index);
	const struct hk_hook *hook = hot->hook;
	struct hk_writer *writer = &hk_process.writer;
	char text[HK_SIGNATURE_BYTES];
	hk_signature_write(hook, text);
	/* The sites of an object are neighbours, so their strings are often equal. */
	const struct hk_site_hot *neighbour = number ? hk_site_table_find(number - 1) : NULL;
	const struct hk_site_item *before = neighbour ? hk_site_table_item(neighbour->index) : NULL;
	before = before && before->entry ? before : NULL;
	uint32_t function = hk_writer_string(writer, site->function);
	uint32_t library = before && hk_site_table_same(before->library, site->library)
			       ? before->entry->library
			       : hk_writer_string(writer, site->library);
	uint32_t provider = before && hk_site_table_same(before->provider, site->provider)
				? before->entry->provider
				: hk_writer_string(writer, site->provider);
	uint32_t signature = *text ? hk_writer_string(writer, text) : 0;
	struct hk_site *entry = function && library && provider ? hk_writer_site(writer) : NULL;
	if (!entry) {
		return false;
	}
	entry->id = number;
	entry->function = function;
	entry->library = library;
	entry->provider = provider;
	entry->signature = signature;
	for (uint32_t i = 0; i + 1 < sizeof(entry->domain) && hook->domain[i]; i++) {
		entry->domain[i] = hook->domain[i];
	}
	bool spare = hot->index >= HK_SPARE_FIRST && hot->index < HK_PLAIN_FIRST;
	entry->flags = (hook->flags & (uint16_t)~HK_HOOK_TRUSTED) | (spare ? HK_SITE_COUNTED : 0);
	entry->meaning = hook->meaning;
	atomic_store_explicit(&entry->level, site->level, memory_order_relaxed);
	atomic_store_explicit(&entry->pinned, site->pinned, memory_order_relaxed);
	atomic_store_explicit(&entry->ceiling, site->ceiling, memory_order_relaxed);
	entry->key_count = hook->value_count;
	for (uint32_t i = 0; i < hook->value_count && i < HK_SITE_KEYS; i++) {
		entry->keys[i] = hook->values[i].key;
	}
	atomic_store_explicit(&writer->header->sites, number + 1, memory_order_release);
	site->entry = entry;
	return true;
}

bool hk_site_table_add(uint32_t index)
{
	struct hk_site_hot *hot = hk_site_table_hot(index);
	hk_site_table_item(index)->entry = NULL;
	hk_site_table_relevel(index);
	/* The segment may be the parent's. The child's own gets all sites when it is made. */
	bool shown = hk_process.used && !hk_process_forked();
	if (shown && !publish(hot)) {
		return false;
	}
	atomic_store_explicit(&number_chunks[count / ITEMS_PER_CHUNK]->hot[count % ITEMS_PER_CHUNK],
			      hot, memory_order_release);
	count++;
	return true;
}

void hk_site_table_publish_all(void)
{
	for (uint32_t i = 0; i < count; i++) {
		/* The entry was in the parent's segment. */
		hk_site_table_item(hk_site_table_find(i)->index)->entry = NULL;
	}
	for (uint32_t i = 0; i < count; i++) {
		if (!publish(hk_site_table_find(i))) {
			return;
		}
	}
}

void hk_site_table_renew(hk_site_level *level)
{
	for (uint32_t i = 0; i < count; i++) {
		uint32_t index = hk_site_table_find(i)->index;
		struct hk_site_item *site = hk_site_table_item(index);
		site->entry = NULL; /* it was in the segment that was closed */
		site->ceiling = 0;
		if (index >= HK_PLAIN_FIRST) {
			site->own_level = level(site->function, site->library, &site->own_pinned);
		}
	}
}

/* ---- levels while the process runs ---- */

static uint8_t level_of(struct hk_site_item *site, uint8_t *ret_pinned, uint32_t *ret_stack_rate)
{
	*ret_pinned = site->own_pinned;
	*ret_stack_rate = site->own_stack_rate;
	uint8_t level = hk_rules_level(site->provider, site->function, site->own_level, ret_pinned,
				       ret_stack_rate);
	if (site->entry) {
		uint8_t ceiling = atomic_load_explicit(&site->entry->ceiling, memory_order_relaxed);
		site->ceiling = ceiling <= HK_LEVEL_STACK ? ceiling : 0;
	}
	if (site->ceiling >= HK_LEVEL_COUNT && site->ceiling < level && !*ret_pinned) {
		return site->ceiling;
	}
	return level;
}

void hk_site_table_relevel(uint32_t index)
{
	struct hk_site_item *site = hk_site_table_item(index);
	struct hk_site_hot *hot = hk_site_table_hot(index);
	uint8_t lazy = hot->flags & HK_HOT_LAZY, control = HK_CONTROL_PASS;
	bool spare = index >= HK_SPARE_FIRST && index < HK_PLAIN_FIRST;
	uint32_t stack_rate;
	uint8_t level = level_of(site, &site->pinned, &stack_rate);
	site->level = hk_rules_cap(level, hot->hook->meaning);
	hk_limit_set(index, stack_rate);
	if (spare && site->level > HK_LEVEL_COUNT) {
		site->level = HK_LEVEL_COUNT;
	}
	if (site->level != HK_LEVEL_OFF) {
		__atomic_store_n(&hot->level, site->level, __ATOMIC_RELAXED);
		uint8_t flags = hk_plan_flags(hot) | (lazy ? HK_HOT_LAZY | HK_HOT_UNUSUAL : 0);
		__atomic_store_n(&hot->flags, flags, __ATOMIC_RELAXED);
		__atomic_store_n(&hot->step, site->level == HK_LEVEL_SAMPLE, __ATOMIC_RELAXED);
		control = hk_site_table_control(hot, lazy ? HK_LEVEL_RECORD : site->level);
	}
	__atomic_store_n(&hot->control, control, __ATOMIC_RELEASE);
	if (site->entry) {
		atomic_store_explicit(&site->entry->level, site->level, memory_order_relaxed);
		atomic_store_explicit(&site->entry->pinned, site->pinned, memory_order_relaxed);
	}
}

bool hk_site_table_relevel_all(void)
{
	bool passed = false;
	for (uint32_t i = 0; i < count; i++) {
		const struct hk_site_hot *hot = hk_site_table_find(i);
		if (hk_site_table_item(hot->index)->retired) {
			continue;
		}
		passed |= (hot->flags & HK_HOT_LAZY) && hot->control == HK_CONTROL_PASS;
		hk_site_table_relevel(hot->index);
	}
	return passed;
}

void hk_site_table_stop_clocks(void)
{
	hk_clock_by_call = 1;
	for (uint32_t i = 0; i < count; i++) {
		struct hk_site_hot *hot = hk_site_table_find(i);
		hot->stack_words |= hot->index < HK_PLAIN_FIRST ? HK_STACK_WORDS_CLOCK : 0;
		__atomic_store_n(&hot->exit, HK_EXIT_BY_CALL, __ATOMIC_RELEASE);
	}
}

void hk_site_table_pass_all(void)
{
	for (uint32_t i = 0; i < count; i++) {
		__atomic_store_n(&hk_site_table_find(i)->control, HK_CONTROL_PASS,
				 __ATOMIC_RELEASE);
	}
}
