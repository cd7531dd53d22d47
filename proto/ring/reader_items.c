/* Sites, strings, cells, octaves and thread slots: everything but records. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/reader_map.h"

/* ---- strings ---- */

/* Copies newly committed bytes of strings block NUMBER. The copy's address never changes. */
static int copy_strings(struct hk_reader *reader, uint32_t number)
{
	struct hk_reader_block *block = &reader->blocks[number];
	uint32_t room = HK_BLOCK_BYTES - (uint32_t)sizeof(struct hk_block);

	if (!block->text) {
		block->text = calloc(1, room);
		if (!block->text) {
			return -ENOMEM;
		}
	}
	/* Whole strings have even lengths; an odd count from a hostile agent would tear a word. */
	uint32_t used = hk_map_used(reader, number, room) & ~1u;
	if (used > block->text_bytes) {
		const char *from = hk_map_block(reader, number) + sizeof(struct hk_block);
		memcpy(block->text + block->text_bytes, from + block->text_bytes,
		       used - block->text_bytes);
		block->text_bytes = used;
	}
	return 0;
}

/* The string at file OFFSET as a private NUL-terminated text, or NULL. */
static const char *string_at(struct hk_reader *reader, uint32_t offset)
{
	uint32_t number = offset / HK_BLOCK_BYTES;
	uint32_t inside = offset % HK_BLOCK_BYTES;
	uint16_t length;

	if (number >= reader->block_count || reader->blocks[number].kind != HK_BLOCK_STRINGS ||
	    inside < sizeof(struct hk_block) || inside % 2 != 0 ||
	    copy_strings(reader, number) < 0) {
		return NULL;
	}
	const struct hk_reader_block *block = &reader->blocks[number];
	uint32_t at = inside - (uint32_t)sizeof(struct hk_block);
	if (at + sizeof(length) > block->text_bytes) {
		return NULL;
	}
	memcpy(&length, block->text + at, sizeof(length));
	char *text = block->text + at + sizeof(length);
	if (length > HK_READER_STRING_MAX || at + sizeof(length) + length >= block->text_bytes ||
	    text[length] != '\0' || memchr(text, '\0', length)) {
		return NULL;
	}
	/* Only bytes that are no NUL change, so every string ever accepted keeps its end. */
	hk_map_make_printable(text, length);
	return text;
}

/* ---- sites ---- */

/* Bound for a hostile agent that changes its site count all the time, so that not every look-up is
 * a search. */
#define SITE_SEARCHES_MAX 64u

static struct hk_reader_site *site_entry(const struct hk_reader *reader, uint32_t id)
{
	uint32_t page = id / HK_READER_SITES_PER_PAGE;
	if (page >= reader->site_page_count || !reader->site_pages[page]) {
		return NULL;
	}
	return &reader->site_pages[page][id % HK_READER_SITES_PER_PAGE];
}

static struct hk_reader_site *make_site_entry(struct hk_reader *reader, uint32_t id)
{
	uint32_t page = id / HK_READER_SITES_PER_PAGE;

	if (page >= reader->site_page_count) {
		struct hk_reader_site **pages =
		    reallocarray(reader->site_pages, page + 1, sizeof(struct hk_reader_site *));
		if (!pages) {
			return NULL;
		}
		while (reader->site_page_count <= page) {
			pages[reader->site_page_count++] = NULL;
		}
		reader->site_pages = pages;
	}
	if (!reader->site_pages[page]) {
		reader->site_pages[page] =
		    calloc(HK_READER_SITES_PER_PAGE, sizeof(struct hk_reader_site));
	}
	return site_entry(reader, id);
}

/* Notes the positions of the sites that the agent has counted since the last search. */
static void find_sites(struct hk_reader *reader)
{
	const struct hk_segment_header *header = (const void *)reader->map;
	/* Pairs with the agent's release: sites below are written. */
	uint32_t counted = atomic_load_explicit(&header->sites, memory_order_acquire);
	uint64_t most = (uint64_t)reader->sites.count * hk_map_capacity(sizeof(struct hk_site));
	uint64_t ordinal = reader->site_cursor;
	bool all_written = true;
	const char *item;

	if (counted > HK_SITES_MAX) {
		counted = HK_SITES_MAX;
	}
	if (counted == reader->sites_counted || reader->site_searches >= SITE_SEARCHES_MAX) {
		return;
	}
	reader->sites_counted = counted;
	reader->site_searches++;
	while ((item = hk_map_item(reader, &reader->sites, sizeof(struct hk_site), &ordinal))) {
		const struct hk_site *site = (const void *)item;
		uint32_t id = hk_map_u32(&site->id);
		ordinal++;
		if (hk_map_u32(&site->function) == 0 || id >= counted) {
			/* Taken but not counted yet: the next search finds it. */
			all_written = false;
			continue;
		}
		/* Ids are item numbers, so a higher id is invalid and would cost memory. */
		struct hk_reader_site *entry = id < most ? make_site_entry(reader, id) : NULL;
		if (entry && !entry->offset) {
			entry->offset = (uint64_t)(item - reader->map);
		}
		if (all_written) {
			reader->site_cursor = (uint32_t)ordinal;
		}
	}
}

/* Returns the flags of SITE with those that an older agent does not write. */
static uint32_t flags_of(const struct hk_reader *reader, const struct hk_site *site)
{
	const struct hk_segment_header *header = (const void *)reader->map;
	bool counted = header->minor < 5 && site->id >= HK_SITES_TIMED;

	return site->flags | (counted ? HK_SITE_COUNTED : 0);
}

static bool copy_site(struct hk_reader *reader, uint32_t id, struct hk_reader_site *entry)
{
	struct hk_site site;

	hk_map_copy(&site, reader->map + entry->offset, sizeof(site));
	const char *function = string_at(reader, site.function);
	const char *library = string_at(reader, site.library);
	const char *provider = site.provider ? string_at(reader, site.provider) : "";
	const char *signature = site.signature ? string_at(reader, site.signature) : "";
	if (site.id != id || !function || !library || !provider || !signature ||
	    hk_map_failed(reader)) {
		return false;
	}
	entry->info = (struct hk_site_info){
	    .id = id,
	    .flags = flags_of(reader, &site),
	    .meaning = site.meaning,
	    .key_count = site.key_count <= HK_SITE_KEYS ? site.key_count : HK_SITE_KEYS,
	    .function = function,
	    .library = library,
	    .provider = provider,
	    .signature = signature,
	};
	memcpy(entry->info.keys, site.keys, sizeof(site.keys));
	memcpy(entry->info.domain, site.domain, sizeof(site.domain) - 1);
	hk_map_make_printable(entry->info.domain, sizeof(entry->info.domain) - 1);
	entry->copied = true;
	return true;
}
static_assert(sizeof(struct hk_site) % 8 == 0, "sites are copied by words");

const struct hk_site_info *hk_reader_site(struct hk_reader *reader, uint32_t id)
{
	struct hk_reader_site *entry = site_entry(reader, id);

	if (entry && entry->copied) {
		if (!hk_map_failed(reader)) {
			const struct hk_site *site = (const void *)(reader->map + entry->offset);
			entry->info.level =
			    atomic_load_explicit(&site->level, memory_order_relaxed);
			entry->info.pinned =
			    atomic_load_explicit(&site->pinned, memory_order_relaxed);
			entry->info.ceiling =
			    atomic_load_explicit(&site->ceiling, memory_order_relaxed);
		}
		return &entry->info;
	}
	if (hk_map_failed(reader)) {
		return NULL;
	}
	if (!entry || !entry->offset) {
		find_sites(reader);
		entry = site_entry(reader, id);
	}
	if (!entry || !entry->offset) {
		return NULL;
	}
	if (!copy_site(reader, id, entry)) {
		reader->damage++;
		return NULL;
	}
	return hk_reader_site(reader, id);
}

void hk_reader_set_ceiling(struct hk_reader *reader, uint32_t id, uint8_t level)
{
	const struct hk_reader_site *entry = site_entry(reader, id);

	if (entry && entry->copied && !hk_map_failed(reader)) {
		struct hk_site *site = (void *)(reader->map + entry->offset);
		atomic_store_explicit(&site->ceiling, level, memory_order_relaxed);
	}
}

/* ---- stacks ---- */

int hk_reader_next_frame(struct hk_reader *reader, uint32_t *number,
			 struct hk_stack_frame *ret_frame)
{
	uint64_t ordinal = *number;
	const char *item = ordinal < HK_FRAMES_MAX && !hk_map_failed(reader)
			       ? hk_map_item(reader, &reader->frames, sizeof(*ret_frame), &ordinal)
			       : NULL;

	/* The writer fills every block but the last one, so ordinals have no gaps. */
	if (!item || ordinal != *number) {
		return hk_map_failed(reader) ? -ESTALE : 0;
	}
	hk_map_copy(ret_frame, item, sizeof(*ret_frame));
	if (hk_map_failed(reader)) {
		return -ESTALE;
	}
	if (ret_frame->caller > *number) {
		ret_frame->caller = 0;
		reader->damage++;
	}
	++*number;
	return 1;
}
static_assert(sizeof(struct hk_stack_frame) % 8 == 0, "frames are copied by words");

int hk_reader_next_object(struct hk_reader *reader, uint32_t *number,
			  struct hk_stack_object *ret_object, const char **ret_path)
{
	uint64_t ordinal = *number;
	const char *item =
	    ordinal < HK_STACK_OBJECTS_MAX && !hk_map_failed(reader)
		? hk_map_item(reader, &reader->objects, sizeof(*ret_object), &ordinal)
		: NULL;

	if (!item || ordinal != *number) {
		return hk_map_failed(reader) ? -ESTALE : 0;
	}
	hk_map_copy(ret_object, item, sizeof(*ret_object));
	const char *path = string_at(reader, ret_object->path);
	if (hk_map_failed(reader)) {
		return -ESTALE;
	}
	if (!path || ret_object->build_id_bytes > HK_BUILD_ID_BYTES) {
		ret_object->build_id_bytes = 0;
		reader->damage++;
	}
	*ret_path = path ? path : "";
	++*number;
	return 1;
}
static_assert(sizeof(struct hk_stack_object) % 8 == 0, "objects are copied by words");

int hk_reader_next_code(struct hk_reader *reader, uint32_t *number, struct hk_code_copy *ret_code)
{
	uint64_t ordinal = *number;
	struct hk_stack_code code;
	const char *item = ordinal < HK_STACK_CODES_MAX && !hk_map_failed(reader)
			       ? hk_map_item(reader, &reader->codes, sizeof(code), &ordinal)
			       : NULL;

	if (!item || ordinal != *number) {
		return hk_map_failed(reader) ? -ESTALE : 0;
	}
	hk_map_copy(&code, item, sizeof(code));
	const char *file = string_at(reader, code.file), *name = string_at(reader, code.name);
	if (hk_map_failed(reader)) {
		return -ESTALE;
	}
	reader->damage += !file || !name;
	*ret_code = (struct hk_code_copy){file ? file : "", name ? name : "", code.first_line};
	++*number;
	return 1;
}
static_assert(sizeof(struct hk_stack_code) % 8 == 0, "code objects are copied by words");

/* ---- kernels ---- */

/* Copies the kernel whose first unit is UNIT. Returns its units, 0 at the end so far. */
static uint32_t read_kernel(struct hk_reader *reader, uint64_t *unit, struct hk_kernel *ret_kernel)
{
	const uint32_t head = sizeof(*ret_kernel) / HK_KERNEL_UNIT;
	const char *item = hk_map_item(reader, &reader->kernels, HK_KERNEL_UNIT, unit);
	uint32_t capacity = hk_map_capacity(HK_KERNEL_UNIT);
	uint32_t room = capacity - (uint32_t)(*unit % capacity);

	*ret_kernel = (struct hk_kernel){0};
	reader->kernel_name[0] = '\0';
	if (!item || room < head) {
		return item ? room : 0;
	}
	hk_map_copy(ret_kernel, item, sizeof(*ret_kernel));
	uint32_t units = hk_kernel_units(ret_kernel->name_bytes);
	if (units > room) {
		/* No kernel crosses a block. */
		reader->damage++;
		ret_kernel->name_bytes = 0;
		units = room;
	}
	uint32_t kept = hk_kernel_kept(ret_kernel->name_bytes);
	hk_map_copy(reader->kernel_name, item + sizeof(*ret_kernel), (kept + 7) & ~7u);
	reader->kernel_name[kept] = '\0';
	hk_map_make_printable(reader->kernel_name, kept);
	return units;
}

int hk_reader_next_kernel(struct hk_reader *reader, uint32_t *number, struct hk_kernel *ret_kernel,
			  const char **ret_name)
{
	if (*number < reader->kernel_number) {
		reader->kernel_number = 0;
		reader->kernel_cursor = 0;
	}
	while (reader->kernel_number <= *number && *number < HK_KERNELS_MAX &&
	       !hk_map_failed(reader)) {
		uint64_t unit = reader->kernel_cursor;
		uint32_t units = read_kernel(reader, &unit, ret_kernel);
		if (units == 0) {
			break;
		}
		if (hk_map_failed(reader)) {
			return -ESTALE;
		}
		reader->kernel_cursor = unit + units;
		reader->kernel_number++;
	}
	if (reader->kernel_number <= *number) {
		return hk_map_failed(reader) ? -ESTALE : 0;
	}
	*ret_name = reader->kernel_name;
	++*number;
	return 1;
}
static_assert(sizeof(struct hk_kernel) % 8 == 0, "kernels are copied by words");

/* ---- cells ---- */

int hk_reader_next_cell(struct hk_reader *reader, uint64_t *cursor, struct hk_cell_copy *ret_cell)
{
	uint64_t slots =
	    (uint64_t)reader->threads.count * hk_map_capacity(sizeof(struct hk_thread_slot));
	const char *item;

	if (hk_map_failed(reader)) {
		return -ESTALE;
	}
	while ((item = hk_map_item(reader, &reader->cells, sizeof(struct hk_cell), cursor))) {
		const struct hk_cell *shared = (const void *)item;
		struct hk_cell cell;

		(*cursor)++;
		/* A cell is owned once its site is set; pairs with the agent's order of stores. */
		if (__atomic_load_n(&shared->site, __ATOMIC_ACQUIRE) == 0) {
			continue;
		}
		hk_map_copy(&cell, shared, sizeof(cell));
		if (hk_map_failed(reader)) {
			return -ESTALE;
		}
		if (cell.site == 0 || cell.site > HK_SITES_MAX || cell.slot >= slots) {
			reader->damage++;
			continue;
		}
		*ret_cell = (struct hk_cell_copy){
		    .calls = cell.calls,
		    .errors = cell.errors,
		    .total_ns = cell.total_ns,
		    .self_ns = cell.self_ns,
		    .outermost_ns = cell.outermost_ns,
		    .bytes = cell.bytes,
		    .min_ns = cell.min_ns,
		    .max_ns = cell.max_ns,
		    .sampled = cell.sampled,
		    .sampled_ns = cell.sampled_ns,
		    .sampled_self_ns = cell.sampled_self_ns,
		    .sampled_outermost_ns = cell.sampled_outermost_ns,
		    .sampled_bytes = cell.sampled_bytes,
		    .device_ns = cell.device_ns,
		    .stacks = cell.stacks,
		    .inner_calls = cell.inner_calls,
		    .site = cell.site - 1,
		    .slot = cell.slot,
		};
		memcpy(ret_cell->octave, cell.octave, sizeof(cell.octave));
		return 1;
	}
	return hk_map_failed(reader) ? -ESTALE : 0;
}
static_assert(sizeof(struct hk_cell) % 8 == 0, "cells are copied by words");

int hk_reader_octave(struct hk_reader *reader, uint32_t token,
		     uint64_t ret_buckets[HK_OCTAVE_BUCKETS])
{
	const uint32_t bytes = HK_OCTAVE_BUCKETS * sizeof(uint64_t);
	uint64_t buckets[HK_OCTAVE_BUCKETS];
	uint32_t number = token / HK_BLOCK_BYTES;
	uint32_t inside = token % HK_BLOCK_BYTES;

	if (hk_map_failed(reader)) {
		return -ESTALE;
	}
	if (number >= reader->block_count || reader->blocks[number].kind != HK_BLOCK_OCTAVES ||
	    inside < reader->blocks[number].offset ||
	    (inside - reader->blocks[number].offset) % bytes != 0 ||
	    inside > HK_BLOCK_BYTES - bytes) {
		reader->damage++;
		return -EBADMSG;
	}
	hk_map_copy(buckets, hk_map_block(reader, number) + inside, bytes);
	if (hk_map_failed(reader)) {
		return -ESTALE;
	}
	memcpy(ret_buckets, buckets, bytes);
	return 0;
}

/* ---- thread slots ---- */

struct hk_reader_slot *hk_reader_slot_state(struct hk_reader *reader, uint32_t slot)
{
	if (slot >= HK_READER_SLOTS_MAX) {
		return NULL;
	}
	if (slot >= reader->slot_room) {
		uint32_t room = (slot + 32u) & ~31u;
		struct hk_reader_slot *slots = reallocarray(reader->slots, room, sizeof(*slots));
		if (!slots) {
			return NULL;
		}
		memset(slots + reader->slot_room, 0, (room - reader->slot_room) * sizeof(*slots));
		reader->slots = slots;
		reader->slot_room = room;
	}
	return &reader->slots[slot];
}

struct hk_thread_slot *hk_reader_slot_shared(const struct hk_reader *reader, uint32_t slot)
{
	uint64_t ordinal = slot;
	char *item = hk_map_item(reader, &reader->threads, sizeof(struct hk_thread_slot), &ordinal);
	return item && ordinal == slot ? (struct hk_thread_slot *)(void *)item : NULL;
}

static void copy_thread(const struct hk_thread_slot *shared, uint32_t slot,
			struct hk_thread_copy *to)
{
	*to = (struct hk_thread_copy){
	    .slot = slot,
	    .state = atomic_load_explicit(&shared->state, memory_order_acquire),
	    .tid = atomic_load_explicit(&shared->tid, memory_order_relaxed),
	    .depth = atomic_load_explicit(&shared->depth, memory_order_acquire),
	    .uid = atomic_load_explicit(&shared->uid, memory_order_relaxed),
	    .calls_untimed = __atomic_load_n(&shared->calls_untimed, __ATOMIC_RELAXED),
	    .usual_ns = __atomic_load_n(&shared->usual_ns, __ATOMIC_RELAXED),
	    .worked_ns = __atomic_load_n(&shared->worked_ns, __ATOMIC_RELAXED),
	    .waited_ns = __atomic_load_n(&shared->waited_ns, __ATOMIC_RELAXED),
	};
	for (uint32_t i = 0; i < HK_STREAMS; i++) {
		to->lost[i] = atomic_load_explicit(&shared->chain[i].lost, memory_order_relaxed);
	}
	uint32_t known = to->depth < HK_OPEN_CALLS ? to->depth : HK_OPEN_CALLS;
	for (uint32_t i = 0; i < known; i++) {
		const struct hk_open_call *open =
		    &shared->open[(to->depth - known + i) % HK_OPEN_CALLS];
		uint32_t site = atomic_load_explicit(&open->site, memory_order_relaxed);
		if (site == HK_OPEN_UNKNOWN) {
			continue;
		}
		to->open[to->open_count++] = (struct hk_open_call_copy){
		    .site = site,
		    .depth = to->depth - known + i + 1,
		    .start_ticks = atomic_load_explicit(&open->start_ticks, memory_order_relaxed),
		};
	}
}

int hk_reader_next_thread(struct hk_reader *reader, uint64_t *cursor,
			  struct hk_thread_copy *ret_thread)
{
	const char *item;

	if (hk_map_failed(reader)) {
		return -ESTALE;
	}
	while (
	    *cursor < HK_READER_SLOTS_MAX &&
	    (item = hk_map_item(reader, &reader->threads, sizeof(struct hk_thread_slot), cursor)) &&
	    *cursor < HK_READER_SLOTS_MAX) {
		struct hk_thread_copy copy;
		uint32_t slot = (uint32_t)(*cursor)++;

		copy_thread((const void *)item, slot, &copy);
		if (hk_map_failed(reader)) {
			return -ESTALE;
		}
		if (copy.state == HK_SLOT_FREE) {
			continue;
		}
		if (copy.state > HK_SLOT_VACANT) {
			reader->damage++;
			continue;
		}
		for (uint32_t i = 0; i < HK_STREAMS; i++) {
			copy.pending_bytes[i] = hk_reader_chain_pending(reader, slot, i);
		}
		*ret_thread = copy;
		return 1;
	}
	return hk_map_failed(reader) ? -ESTALE : 0;
}
