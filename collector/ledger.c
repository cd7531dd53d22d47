#include "collector/ledger.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "collector/blocks.h"
#include "collector/events.h"
#include "collector/ranges.h"
#include "hooks/hook.h"

#define PAGE_BYTES 4096u
#define LIBRARIES_MAX 4096u
#define LIBRARY_ALL 0u
#define NO_WORD 0xffu

enum kind { KIND_HEAP = 0, KIND_MAP = 1 };
#define KINDS 2

struct account {
	uint64_t allocs, frees;
	uint64_t live_bytes, peak_bytes, peak_ticks;
	uint64_t exact_peak; /* peak until the first loss */
};

struct library {
	char *name;
	uint32_t index;
	struct account account[KINDS];
	UT_hash_handle hh;
};

/* What the ledger needs of a site; filled at its first record. */
struct site {
	bool known;
	uint8_t meaning; /* enum hk_meaning, NONE if not about memory */
	uint8_t pointer, size, old_pointer, old_size; /* payload word numbers, NO_WORD: absent */
	uint32_t library;
};

struct hk_ledger {
	struct hk_ledger_options options;
	struct hk_blocks blocks;
	struct hk_ranges ranges;
	struct hk_events events;
	struct site *sites; /* by id */
	uint32_t site_capacity;
	struct library *by_name;    /* name -> library */
	struct library **libraries; /* by index; 0 is "*" */
	uint32_t library_count;
	uint64_t lost;		 /* by the producer */
	uint64_t lost_here;	 /* no room in one of our tables */
	uint64_t largest[KINDS]; /* bytes of the largest allocation */
	uint64_t unknown_frees;
	uint64_t now_ticks;
};

/* ---- libraries and sites ---- */

static struct library *library_add(struct hk_ledger *ledger, const char *name)
{
	struct library **list =
	    realloc(ledger->libraries, (ledger->library_count + 1) * sizeof(struct library *));
	if (!list) {
		return NULL;
	}
	ledger->libraries = list;
	struct library *library = calloc(1, sizeof(*library));
	if (!library || !(library->name = strdup(name))) {
		free(library);
		return NULL;
	}
	library->index = ledger->library_count;
	ledger->libraries[ledger->library_count++] = library;
	HASH_ADD_KEYPTR(hh, ledger->by_name, library->name, strlen(library->name), library);
	return library;
}

/* Row index of library NAME; past LIBRARIES_MAX names, only the sum is kept. */
static int library_index(struct hk_ledger *ledger, const char *name, uint32_t *ret_index)
{
	struct library *library;
	HASH_FIND_STR(ledger->by_name, name, library);
	if (!library && ledger->library_count >= LIBRARIES_MAX) {
		*ret_index = LIBRARY_ALL;
		return 0;
	}
	if (!library) {
		library = library_add(ledger, name);
	}
	if (!library) {
		return -ENOMEM;
	}
	*ret_index = library->index;
	return 0;
}

static uint8_t word_of(const struct hk_chunk_site *definition, uint8_t key)
{
	for (uint8_t i = 0; i < definition->key_count && i < HK_CHUNK_KEYS; i++) {
		if (definition->keys[i] == key) {
			return i;
		}
	}
	return NO_WORD;
}

/* Asks for the definition of SITE; a site about anything else is remembered as such. */
static int site_define(struct hk_ledger *ledger, struct site *site, uint32_t id)
{
	struct hk_chunk_site definition = {0};
	int r = ledger->options.site(ledger->options.context, id, &definition);
	if (r < 0) {
		return r;
	}
	if (definition.meaning >= HK_MEANING_ALLOC && definition.meaning <= HK_MEANING_REMAP) {
		r = library_index(ledger, definition.library, &site->library);
		if (r < 0) {
			return r;
		}
		site->meaning = definition.meaning;
		site->pointer = word_of(&definition, HK_KEY_POINTER);
		site->size = word_of(&definition, HK_KEY_SIZE);
		site->old_pointer = word_of(&definition, HK_KEY_OLD_POINTER);
		site->old_size = word_of(&definition, HK_KEY_OLD_SIZE);
	}
	site->known = true;
	return 0;
}

static int site_get(struct hk_ledger *ledger, uint32_t id, const struct site **ret_site)
{
	if (id >= HK_CHUNK_SITES_MAX) {
		return -EINVAL;
	}
	if (id >= ledger->site_capacity) {
		uint32_t capacity = ledger->site_capacity ? ledger->site_capacity : 256;
		while (capacity <= id) {
			capacity *= 2;
		}
		struct site *sites = realloc(ledger->sites, capacity * sizeof(*sites));
		if (!sites) {
			return -ENOMEM;
		}
		memset(sites + ledger->site_capacity, 0,
		       (capacity - ledger->site_capacity) * sizeof(*sites));
		ledger->sites = sites;
		ledger->site_capacity = capacity;
	}
	struct site *site = &ledger->sites[id];
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

static void account_grow(struct hk_ledger *ledger, struct account *account, uint64_t bytes)
{
	account->live_bytes += bytes;
	if (account->live_bytes > account->peak_bytes) {
		account->peak_bytes = account->live_bytes;
		account->peak_ticks = ledger->now_ticks;
		if (ledger->lost + ledger->lost_here == 0) {
			account->exact_peak = account->peak_bytes;
		}
	}
}

static void grow(struct hk_ledger *ledger, enum kind kind, uint32_t library, uint64_t bytes)
{
	account_grow(ledger, &ledger->libraries[LIBRARY_ALL]->account[kind], bytes);
	if (library != LIBRARY_ALL) {
		account_grow(ledger, &ledger->libraries[library]->account[kind], bytes);
	}
	if (bytes > ledger->largest[kind]) {
		ledger->largest[kind] = bytes;
	}
}

static void shrink(struct hk_ledger *ledger, enum kind kind, uint32_t library, uint64_t bytes)
{
	ledger->libraries[LIBRARY_ALL]->account[kind].live_bytes -= bytes;
	if (library != LIBRARY_ALL) {
		ledger->libraries[library]->account[kind].live_bytes -= bytes;
	}
}

static void count(struct hk_ledger *ledger, enum kind kind, uint32_t library, int64_t allocs,
		  int64_t frees)
{
	struct account *all = &ledger->libraries[LIBRARY_ALL]->account[kind];
	struct account *own = &ledger->libraries[library]->account[kind];
	all->allocs += (uint64_t)allocs;
	all->frees += (uint64_t)frees;
	if (own != all) {
		own->allocs += (uint64_t)allocs;
		own->frees += (uint64_t)frees;
	}
}

/* ---- what events do ---- */

static void apply_alloc(struct hk_ledger *ledger, const struct hk_event *event)
{
	struct hk_heap_block *old = hk_blocks_find(&ledger->blocks, event->pointer);
	struct hk_heap_block block = {event->pointer, event->size, event->ticks, event->library,
				      event->thread};
	if (old) {
		/* An allocator that calls another allocator reports one block twice: the inner call
		 * lies within the outer one. Otherwise the block was freed where nobody looked. */
		bool nested = old->thread == event->thread && old->end_ticks >= event->start_ticks;
		shrink(ledger, KIND_HEAP, old->library, old->size);
		count(ledger, KIND_HEAP, old->library, nested ? -1 : 0, nested ? 0 : 1);
		*old = block;
	} else if (hk_blocks_put(&ledger->blocks, &block) < 0) {
		ledger->lost_here++;
		return;
	}
	count(ledger, KIND_HEAP, event->library, 1, 0);
	grow(ledger, KIND_HEAP, event->library, event->size);
}

static void apply_free(struct hk_ledger *ledger, const struct hk_event *event)
{
	struct hk_heap_block *block = hk_blocks_find(&ledger->blocks, event->pointer);
	if (!block) {
		ledger->unknown_frees++;
		return;
	}
	shrink(ledger, KIND_HEAP, block->library, block->size);
	count(ledger, KIND_HEAP, block->library, 0, 1);
	hk_blocks_remove(&ledger->blocks, block);
}

struct removal {
	struct hk_ledger *ledger;
	bool any;
	uint32_t library; /* of the first piece */
};

static void piece_removed(void *context, uint32_t library, uint64_t bytes)
{
	struct removal *removal = context;
	shrink(removal->ledger, KIND_MAP, library, bytes);
	if (!removal->any) {
		removal->any = true;
		removal->library = library;
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
	    hk_ranges_add(&ledger->ranges, start, end, event->library) < 0) {
		ledger->lost_here++;
		return;
	}
	count(ledger, KIND_MAP, event->library, 1, 0);
	grow(ledger, KIND_MAP, event->library, end - start);
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
		count(ledger, KIND_MAP, removal.library, 0, 1);
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
		/* Some call has been open for two million events: the order of the earliest is
		 * given up. */
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

/* The release (at the start) and the allocation (at the end) that a record stands for. */
static int push_record(struct hk_ledger *ledger, const struct site *site,
		       const struct hk_record *record)
{
	uint64_t pointer = word(record, site->pointer), size = word(record, site->size);
	uint64_t old_pointer = word(record, site->old_pointer);
	uint64_t old_size = word(record, site->old_size);
	bool map = site->meaning == HK_MEANING_MAP || site->meaning == HK_MEANING_UNMAP ||
		   site->meaning == HK_MEANING_REMAP;
	bool failed = map ? pointer == UINT64_MAX : pointer == 0;
	struct hk_event release = {
	    .ticks = record->start_ticks,
	    .kind = map ? HK_EVENT_UNMAP : HK_EVENT_FREE,
	    .library = site->library,
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
		return failed ? 0 : push(ledger, &allocation);
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
	return r < 0 || failed ? r : push(ledger, &allocation);
}

int hk_ledger_add(struct hk_ledger *ledger, const struct hk_record *record)
{
	if (record->kind != HK_CHUNK_KIND_CALL) {
		return 0;
	}
	const struct site *site;
	int r = site_get(ledger, record->site, &site);
	if (r == -ENOMEM) {
		return r;
	}
	if (r < 0 || site->meaning == HK_MEANING_NONE) {
		return 0;
	}
	return push_record(ledger, site, record);
}

void hk_ledger_advance(struct hk_ledger *ledger, uint64_t horizon_ticks)
{
	const struct hk_event *first;
	while ((first = hk_events_first(&ledger->events)) != NULL &&
	       (first->ticks < horizon_ticks || horizon_ticks == UINT64_MAX)) {
		apply_first(ledger);
	}
}

void hk_ledger_set_lost(struct hk_ledger *ledger, uint64_t lost)
{
	ledger->lost = lost;
}

uint64_t hk_ledger_unknown_frees(const struct hk_ledger *ledger)
{
	return ledger->unknown_frees;
}

static void fill_row(const struct hk_ledger *ledger, uint32_t library, enum kind kind,
		     struct hk_ledger_row *row)
{
	const struct account *account = &ledger->libraries[library]->account[kind];
	uint64_t lost = ledger->lost + ledger->lost_here, slack;
	row->kind = kind == KIND_HEAP ? "heap" : "map";
	row->library = ledger->libraries[library]->name;
	row->allocs = account->allocs;
	row->frees = account->frees;
	row->live_bytes = account->live_bytes;
	row->peak_bytes = row->peak_low = row->peak_high = account->peak_bytes;
	row->peak_ticks = account->peak_ticks;
	if (lost > 0) {
		/* A lost release makes the peak look too high, a lost allocation too low: by the
		 * largest seen at most, as far as anyone can tell. */
		row->peak_low = account->exact_peak;
		if (__builtin_mul_overflow(lost, ledger->largest[kind], &slack) ||
		    __builtin_add_overflow(account->peak_bytes, slack, &row->peak_high)) {
			row->peak_high = UINT64_MAX;
		}
	}
}

int hk_ledger_row(const struct hk_ledger *ledger, size_t index, struct hk_ledger_row *ret_row)
{
	for (enum kind kind = KIND_HEAP; kind < KINDS; kind++) {
		for (uint32_t i = 0; i < ledger->library_count; i++) {
			if (ledger->libraries[i]->account[kind].allocs > 0 && index-- == 0) {
				fill_row(ledger, i, kind, ret_row);
				return 1;
			}
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
	return library_add(ledger, "*") ? ledger : hk_ledger_free(ledger);
}

struct hk_ledger *hk_ledger_free(struct hk_ledger *ledger)
{
	if (!ledger) {
		return NULL;
	}
	HASH_CLEAR(hh, ledger->by_name);
	for (uint32_t i = 0; i < ledger->library_count; i++) {
		free(ledger->libraries[i]->name);
		free(ledger->libraries[i]);
	}
	free(ledger->libraries);
	free(ledger->sites);
	hk_blocks_fini(&ledger->blocks);
	hk_ranges_fini(&ledger->ranges);
	hk_events_fini(&ledger->events);
	free(ledger);
	return NULL;
}
