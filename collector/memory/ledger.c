#include "collector/memory/ledger.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "collector/memory/ledger_tables.h"
#include "hooks/hook.h"

#define PAGE_BYTES 4096u
#define NO_WORD 0xffu

/* ---- sites ---- */

static uint8_t word_of(const struct hk_chunk_site *definition, uint8_t key)
{
	for (uint8_t i = 0; i < definition->key_count && i < HK_CHUNK_KEYS; i++) {
		if (definition->keys[i] == key) {
			return i;
		}
	}
	return NO_WORD;
}

static bool is_mapping(uint8_t meaning)
{
	return meaning == HK_MEANING_MAP || meaning == HK_MEANING_UNMAP ||
	       meaning == HK_MEANING_REMAP;
}

static enum hk_account_kind kind_of(const struct hk_chunk_site *definition)
{
	switch (hk_hook_memory(definition->flags)) {
	case HK_MEMORY_DEVICE:
		return HK_ACCOUNT_DEVICE;
	case HK_MEMORY_MANAGED:
		return HK_ACCOUNT_MANAGED;
	case HK_MEMORY_PINNED:
		return HK_ACCOUNT_PINNED;
	default:
		return is_mapping(definition->meaning) ? HK_ACCOUNT_MAP : HK_ACCOUNT_HEAP;
	}
}

static uint32_t pool_of(enum hk_account_kind kind)
{
	return kind == HK_ACCOUNT_HEAP ? HK_POOL_HEAP : HK_POOL_DEVICE;
}

/* Gets the definition of SITE. A site without memory calls is remembered as such. */
static int site_define(struct hk_ledger *ledger, struct hk_ledger_site *site, uint32_t id)
{
	struct hk_chunk_site definition = {0};
	int r = ledger->options.site(ledger->options.context, id, &definition);
	if (r < 0) {
		return r;
	}
	if (definition.meaning >= HK_MEANING_ALLOC && definition.meaning <= HK_MEANING_REMAP) {
		r = hk_accounts_library(&ledger->accounts, definition.library, &site->library);
		if (r < 0) {
			return r;
		}
		site->meaning = definition.meaning;
		site->kind = kind_of(&definition);
		site->pointer = word_of(&definition, HK_KEY_POINTER);
		site->size = word_of(&definition, HK_KEY_SIZE);
		site->old_pointer = word_of(&definition, HK_KEY_OLD_POINTER);
		site->old_size = word_of(&definition, HK_KEY_OLD_SIZE);
		site->device = word_of(&definition, HK_KEY_DEVICE);
	}
	site->known = true;
	return 0;
}

static int site_get(struct hk_ledger *ledger, uint32_t id, const struct hk_ledger_site **ret_site)
{
	if (id >= HK_CHUNK_SITES_MAX) {
		return -EINVAL;
	}
	if (id >= ledger->site_capacity) {
		uint32_t capacity = ledger->site_capacity ? ledger->site_capacity : 256;
		while (capacity <= id) {
			capacity *= 2;
		}
		struct hk_ledger_site *sites = realloc(ledger->sites, capacity * sizeof(*sites));
		if (!sites) {
			return -ENOMEM;
		}
		memset(sites + ledger->site_capacity, 0,
		       (capacity - ledger->site_capacity) * sizeof(*sites));
		ledger->sites = sites;
		ledger->site_capacity = capacity;
	}
	struct hk_ledger_site *site = &ledger->sites[id];
	if (!site->known) {
		int r = site_define(ledger, site, id);
		if (r < 0) {
			return r;
		}
	}
	*ret_site = site;
	return 0;
}

/* ---- accounts ---- */

static void grow(struct hk_ledger *ledger, uint32_t account, uint64_t bytes)
{
	bool exact = ledger->lost + ledger->lost_here == 0;
	hk_accounts_grow(&ledger->accounts, account, bytes, ledger->now_ticks, exact);
}

static void shrink(struct hk_ledger *ledger, uint32_t account, uint64_t bytes)
{
	hk_accounts_shrink(&ledger->accounts, account, bytes, ledger->now_ticks);
}

static void count(struct hk_ledger *ledger, uint32_t account, int64_t allocs, int64_t frees)
{
	hk_accounts_count(&ledger->accounts, account, allocs, frees);
}

/* ---- what events do ---- */

static void apply_alloc(struct hk_ledger *ledger, const struct hk_event *event)
{
	struct hk_blocks *blocks = &ledger->blocks[event->pool];
	struct hk_heap_block *old = hk_blocks_find(blocks, event->pointer);
	struct hk_heap_block block = {event->pointer, event->size, event->ticks, event->account,
				      event->thread};
	if (old) {
		/* An allocator that calls another allocator reports one block twice: the inner call
		 * lies within the outer one. Otherwise a call that is not traced freed the block.
		 */
		bool nested = old->thread == event->thread && old->end_ticks >= event->start_ticks;
		shrink(ledger, old->account, old->size);
		count(ledger, old->account, nested ? -1 : 0, nested ? 0 : 1);
		*old = block;
	} else if (hk_blocks_put(blocks, &block) < 0) {
		ledger->lost_here++;
		return;
	}
	count(ledger, event->account, 1, 0);
	grow(ledger, event->account, event->size);
}

static void apply_free(struct hk_ledger *ledger, const struct hk_event *event)
{
	struct hk_blocks *blocks = &ledger->blocks[event->pool];
	struct hk_heap_block *block = hk_blocks_find(blocks, event->pointer);
	if (!block) {
		ledger->unknown_frees++;
		return;
	}
	shrink(ledger, block->account, block->size);
	count(ledger, block->account, 0, 1);
	hk_blocks_remove(blocks, block);
}

struct removal {
	struct hk_ledger *ledger;
	bool any;
	uint32_t account; /* account of the first piece */
};

static void piece_removed(void *context, uint32_t account, uint64_t bytes)
{
	struct removal *removal = context;
	shrink(removal->ledger, account, bytes);
	if (!removal->any) {
		removal->any = true;
		removal->account = account;
	}
}

static bool page_range(const struct hk_event *event, uint64_t *ret_start, uint64_t *ret_end)
{
	const uint64_t mask = PAGE_BYTES - 1;
	uint64_t start = event->pointer & ~mask, end;
	if (__builtin_add_overflow(event->pointer, event->size, &end) ||
	    __builtin_add_overflow(end, mask, &end) || event->size == 0) {
		return false;
	}
	*ret_start = start;
	*ret_end = end & ~mask;
	return true;
}

static void apply_map(struct hk_ledger *ledger, const struct hk_event *event)
{
	uint64_t start, end;
	if (!page_range(event, &start, &end)) {
		return;
	}
	struct removal removal = {.ledger = ledger};
	/* MAP_FIXED may lie over older mappings. */
	if (hk_ranges_remove(&ledger->ranges, start, end, piece_removed, &removal) < 0 ||
	    hk_ranges_add(&ledger->ranges, start, end, event->account) < 0) {
		ledger->lost_here++;
		return;
	}
	count(ledger, event->account, 1, 0);
	grow(ledger, event->account, end - start);
}

static void apply_unmap(struct hk_ledger *ledger, const struct hk_event *event)
{
	uint64_t start, end;
	if (!page_range(event, &start, &end)) {
		return;
	}
	struct removal removal = {.ledger = ledger};
	if (hk_ranges_remove(&ledger->ranges, start, end, piece_removed, &removal) < 0) {
		ledger->lost_here++;
	}
	if (removal.any) {
		count(ledger, removal.account, 0, 1);
	} else {
		ledger->unknown_frees++;
	}
}

static void apply_first(struct hk_ledger *ledger)
{
	struct hk_event event;
	hk_events_pop(&ledger->events, &event);
	ledger->now_ticks = event.ticks;
	switch (event.kind) {
	case HK_EVENT_ALLOC:
		apply_alloc(ledger, &event);
		break;
	case HK_EVENT_FREE:
		apply_free(ledger, &event);
		break;
	case HK_EVENT_MAP:
		apply_map(ledger, &event);
		break;
	default:
		apply_unmap(ledger, &event);
		break;
	}
}

/* ---- records ---- */

static int push(struct hk_ledger *ledger, const struct hk_event *event)
{
	int r = hk_events_push(&ledger->events, event);
	if (r == -ENOSPC) {
		/* A call has been open for two million events, so the order of the earliest events
		 * is given up. */
		apply_first(ledger);
		ledger->lost_here++;
		r = hk_events_push(&ledger->events, event);
	}
	return r;
}

static uint64_t word(const struct hk_record *record, uint8_t index)
{
	return index < record->word_count ? record->words[index] : 0;
}

static uint64_t end_of(const struct hk_ledger *ledger, const struct hk_record *record)
{
	double ticks = (double)record->duration_ns * ledger->options.ticks_per_ns;
	uint64_t end;
	if (!(ticks >= 0 && ticks < 0x1p63) ||
	    __builtin_add_overflow(record->start_ticks, (uint64_t)ticks, &end)) {
		return UINT64_MAX;
	}
	return end;
}

/* Finds the account of an allocation. */
static int account_of(struct hk_ledger *ledger, const struct hk_ledger_site *site,
		      const struct hk_record *record, uint32_t *ret_account)
{
	bool on_device = site->kind == HK_ACCOUNT_DEVICE || site->kind == HK_ACCOUNT_MANAGED;
	uint64_t device = on_device && site->device < record->word_count
			      ? record->words[site->device]
			      : UINT64_MAX;
	return hk_accounts_get(&ledger->accounts, site->kind, device, site->library, ret_account);
}

static int push_allocation(struct hk_ledger *ledger, const struct hk_ledger_site *site,
			   const struct hk_record *record, struct hk_event *event)
{
	int r = account_of(ledger, site, record, &event->account);
	if (r == -ENOSPC) {
		ledger->lost_here++;
		return 0;
	}
	return r < 0 ? r : push(ledger, event);
}

/* Adds the events of a record: a release at its start, an allocation at its end, or both. */
static int push_record(struct hk_ledger *ledger, const struct hk_ledger_site *site,
		       const struct hk_record *record)
{
	uint64_t pointer = word(record, site->pointer), size = word(record, site->size);
	uint64_t old_pointer = word(record, site->old_pointer);
	uint64_t old_size = word(record, site->old_size);
	bool map = is_mapping(site->meaning);
	bool failed = map ? pointer == UINT64_MAX : pointer == 0;
	struct hk_event release = {
	    .ticks = record->start_ticks,
	    .kind = map ? HK_EVENT_UNMAP : HK_EVENT_FREE,
	    .pool = pool_of(site->kind),
	    .thread = (uint32_t)record->thread->uid,
	    .start_ticks = record->start_ticks,
	};
	struct hk_event allocation = release;
	allocation.ticks = end_of(ledger, record);
	allocation.kind = map ? HK_EVENT_MAP : HK_EVENT_ALLOC;
	allocation.pointer = pointer;
	allocation.size = size;

	switch (site->meaning) {
	case HK_MEANING_ALLOC:
	case HK_MEANING_MAP:
		return failed ? 0 : push_allocation(ledger, site, record, &allocation);
	case HK_MEANING_FREE:
	case HK_MEANING_UNMAP:
		release.pointer = pointer;
		release.size = size;
		return failed ? 0 : push(ledger, &release);
	default:
		break;
	}
	/* realloc(p, 0) that returns NULL has freed p; any other NULL left the block as it was. */
	bool released = failed ? !map && size == 0 : true;
	release.pointer = old_pointer;
	release.size = old_size;
	int r = 0;
	if (released && old_pointer != 0 && !(map && old_size == 0)) {
		r = push(ledger, &release);
	}
	return r < 0 || failed ? r : push_allocation(ledger, site, record, &allocation);
}

int hk_ledger_add(struct hk_ledger *ledger, const struct hk_record *record)
{
	/* A failed allocation shows in its values. realloc(p, 0) may return NULL and still free. */
	if (record->kind != HK_CHUNK_KIND_CALL && record->kind != HK_CHUNK_KIND_FAILED) {
		return 0;
	}
	const struct hk_ledger_site *site;
	int r = site_get(ledger, record->site, &site);
	if (r == -ENOMEM) {
		return r;
	}
	if (r < 0 || site->meaning == HK_MEANING_NONE) {
		return 0;
	}
	return push_record(ledger, site, record);
}

void hk_ledger_advance_but(struct hk_ledger *ledger, uint64_t horizon_ticks, size_t keep)
{
	const struct hk_event *first;
	while (ledger->events.count > keep && (first = hk_events_first(&ledger->events)) != NULL &&
	       (first->ticks < horizon_ticks || horizon_ticks == UINT64_MAX)) {
		apply_first(ledger);
	}
}

void hk_ledger_advance(struct hk_ledger *ledger, uint64_t horizon_ticks)
{
	hk_ledger_advance_but(ledger, horizon_ticks, 0);
}

bool hk_ledger_waits(const struct hk_ledger *ledger)
{
	return ledger->events.count > 0;
}

void hk_ledger_note_gap(struct hk_ledger *ledger, uint64_t records)
{
	ledger->lost_here += records;
}

void hk_ledger_set_lost(struct hk_ledger *ledger, uint64_t lost)
{
	ledger->lost = lost;
}

uint64_t hk_ledger_unknown_frees(const struct hk_ledger *ledger)
{
	return ledger->unknown_frees;
}

static void fill_row(const struct hk_ledger *ledger, uint32_t number, struct hk_ledger_row *row)
{
	static const char *const kinds[] = {
	    [HK_ACCOUNT_HEAP] = "heap",	    [HK_ACCOUNT_MAP] = "map",
	    [HK_ACCOUNT_DEVICE] = "device", [HK_ACCOUNT_MANAGED] = "managed",
	    [HK_ACCOUNT_PINNED] = "pinned",
	};
	const struct hk_account *account = &ledger->accounts.list[number];
	uint64_t lost = ledger->lost + ledger->lost_here, slack;
	row->kind = kinds[account->kind];
	row->device = account->device;
	row->library = hk_accounts_name(&ledger->accounts, account->library);
	row->allocs = account->allocs;
	row->frees = account->frees;
	row->live_bytes = account->live_bytes;
	row->peak_bytes = row->peak_low = row->peak_high = account->peak_bytes;
	row->peak_ticks = account->peak_ticks;
	row->at_peak_bytes = hk_accounts_at_peak(&ledger->accounts, number);
	row->series = account->series;
	if (lost > 0) {
		/* A lost release makes the peak too high, a lost allocation too low. The estimate
		 * is the largest block seen, for each lost record. */
		uint64_t largest = ledger->accounts.list[account->all].largest;
		row->peak_low = account->exact_peak;
		if (__builtin_mul_overflow(lost, largest, &slack) ||
		    __builtin_add_overflow(account->peak_bytes, slack, &row->peak_high)) {
			row->peak_high = UINT64_MAX;
		}
	}
}

int hk_ledger_row(const struct hk_ledger *ledger, size_t index, struct hk_ledger_row *ret_row)
{
	for (uint32_t i = 0; i < ledger->accounts.count; i++) {
		if (ledger->accounts.list[i].allocs > 0 && index-- == 0) {
			fill_row(ledger, i, ret_row);
			return 1;
		}
	}
	return 0;
}

struct hk_ledger *hk_ledger_new(const struct hk_ledger_options *options)
{
	struct hk_ledger *ledger = calloc(1, sizeof(*ledger));
	if (!ledger) {
		return NULL;
	}
	ledger->options = *options;
	return ledger;
}

static void tables_fini(struct hk_ledger *ledger)
{
	hk_accounts_fini(&ledger->accounts);
	free(ledger->sites);
	for (unsigned i = 0; i < HK_POOLS; i++) {
		hk_blocks_fini(&ledger->blocks[i]);
	}
	hk_ranges_fini(&ledger->ranges);
	hk_events_fini(&ledger->events);
}

void hk_ledger_clear(struct hk_ledger *ledger)
{
	tables_fini(ledger);
	*ledger = (struct hk_ledger){.options = ledger->options};
}

struct hk_ledger *hk_ledger_free(struct hk_ledger *ledger)
{
	if (ledger) {
		tables_fini(ledger);
		free(ledger);
	}
	return NULL;
}
