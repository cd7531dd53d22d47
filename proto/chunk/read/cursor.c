#include "chunk/read/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chunk/codec/header.h"
#include "chunk/read/catalog.h"

/* Blocks are loaded ahead only while those in memory stay below this: otherwise a file whose chunks
 * all claim start 0 would be loaded whole. Its records then come late, and are counted. */
#define LOADED_BYTES_MAX (256u << 20)

struct hk_cursor {
	struct hk_loader *loader;
	int fd;
	struct hk_chunk_block_location *places; /* sorted by start */
	size_t place_count, place_capacity, next_place;
	struct hk_chunk_block **heap; /* loaded blocks, the one with the earliest record on top */
	size_t heap_count, heap_capacity;
	size_t loaded_bytes;
	uint64_t last_start_ticks;
	struct hk_catalog catalog;
	struct hk_cursor_stats stats;
};

static const struct hk_record *head_of(const struct hk_chunk_block *block)
{
	return &block->records[block->next];
}

/* Of equal records the one of the later chunk ended later: it is the outer call. */
static bool block_before(const struct hk_chunk_block *a, const struct hk_chunk_block *b)
{
	const struct hk_record *x = head_of(a), *y = head_of(b);

	if (hk_order_before(x, y) || hk_order_before(y, x)) {
		return hk_order_before(x, y);
	}
	return a->number > b->number;
}

static void sift_down(struct hk_cursor *cursor)
{
	struct hk_chunk_block **heap = cursor->heap;
	struct hk_chunk_block *block = heap[0];
	size_t at = 0;

	for (;;) {
		size_t child = at * 2 + 1;
		if (child + 1 < cursor->heap_count && block_before(heap[child + 1], heap[child])) {
			child++;
		}
		if (child >= cursor->heap_count || !block_before(heap[child], block)) {
			break;
		}
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = block;
}

static int push(struct hk_cursor *cursor, struct hk_chunk_block *block)
{
	if (cursor->heap_count == cursor->heap_capacity) {
		size_t wanted = cursor->heap_capacity ? cursor->heap_capacity * 2 : 8;
		struct hk_chunk_block **grown = realloc(cursor->heap, wanted * sizeof(*grown));
		if (!grown) {
			return -ENOMEM;
		}
		cursor->heap = grown;
		cursor->heap_capacity = wanted;
	}
	size_t at = cursor->heap_count++;
	while (at && block_before(block, cursor->heap[(at - 1) / 2])) {
		cursor->heap[at] = cursor->heap[(at - 1) / 2];
		at = (at - 1) / 2;
	}
	cursor->heap[at] = block;
	cursor->loaded_bytes += block->bytes;
	return 0;
}

static int load_next(struct hk_cursor *cursor)
{
	const struct hk_chunk_block_location *place = &cursor->places[cursor->next_place++];
	struct hk_chunk_block *block;
	int rc = hk_chunk_block_load(cursor->loader, cursor->fd, place, &block);

	if (rc == 0) {
		rc = hk_catalog_take(&cursor->catalog, cursor->loader->reader);
		if (rc == 0 && block->count) {
			rc = push(cursor, block);
			block = rc < 0 ? block : NULL;
		}
		hk_chunk_block_free(block);
	}
	if (rc == -EBADMSG) {
		bool evicted = hk_chunk_file_is_evicted(cursor->fd, place->offset);
		cursor->stats.evicted += evicted;
		cursor->stats.damaged += !evicted;
		rc = 0;
	}
	return rc;
}

static uint64_t next_place_start(const struct hk_cursor *cursor)
{
	return cursor->next_place < cursor->place_count
		   ? cursor->places[cursor->next_place].min_start_ticks
		   : UINT64_MAX;
}

/* Loads all blocks that must be in memory before the earliest record is handed out. */
static int load_due(struct hk_cursor *cursor)
{
	int rc = 0;

	while (rc == 0 && cursor->next_place < cursor->place_count) {
		if (cursor->heap_count &&
		    (next_place_start(cursor) > head_of(cursor->heap[0])->start_ticks ||
		     cursor->loaded_bytes > LOADED_BYTES_MAX)) {
			break;
		}
		rc = load_next(cursor);
	}
	return rc;
}

/* Drops the top block if it is used up, else restores the heap's order. */
static void settle_top(struct hk_cursor *cursor)
{
	struct hk_chunk_block *top = cursor->heap_count ? cursor->heap[0] : NULL;

	if (!top) {
		return;
	}
	if (top->next == top->count) {
		cursor->loaded_bytes -= top->bytes;
		hk_chunk_block_free(top);
		cursor->heap[0] = cursor->heap[--cursor->heap_count];
	}
	if (cursor->heap_count > 1) {
		sift_down(cursor);
	}
}

/* Index of the first record from `first` on that starts at or after `limit`. */
static size_t run_end(const struct hk_chunk_block *block, size_t first, uint64_t limit)
{
	size_t low = first, high = block->count;

	if (block->records[high - 1].start_ticks < limit) {
		return high;
	}
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (block->records[middle].start_ticks < limit) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

int hk_cursor_batch(struct hk_cursor *cursor, const struct hk_record **ret_records,
		    size_t *ret_count)
{
	settle_top(cursor);
	int rc = load_due(cursor);
	if (rc < 0 || !cursor->heap_count) {
		return rc;
	}
	struct hk_chunk_block *top = cursor->heap[0];
	/* A block that is due but not loaded for lack of memory comes late anyway: it is no
	 * limit. */
	uint64_t first_start = head_of(top)->start_ticks;
	uint64_t limit = next_place_start(cursor);
	limit = limit <= first_start ? UINT64_MAX : limit;
	for (size_t child = 1; child < cursor->heap_count && child <= 2; child++) {
		uint64_t start = head_of(cursor->heap[child])->start_ticks;
		limit = start < limit ? start : limit;
	}
	size_t first = top->next;
	top->next = run_end(top, first + 1, limit);
	cursor->stats.late += first_start < cursor->last_start_ticks;
	cursor->last_start_ticks = top->records[top->next - 1].start_ticks;
	*ret_records = top->records + first;
	*ret_count = top->next - first;
	return 1;
}

static int add_place(struct hk_cursor *cursor, const struct hk_chunk_header *header,
		     uint64_t offset, uint32_t type)
{
	if (cursor->place_count == cursor->place_capacity) {
		size_t wanted = cursor->place_capacity ? cursor->place_capacity * 2 : 64;
		struct hk_chunk_block_location *grown =
		    realloc(cursor->places, wanted * sizeof(*grown));
		if (!grown) {
			return -ENOMEM;
		}
		cursor->places = grown;
		cursor->place_capacity = wanted;
	}
	cursor->places[cursor->place_count++] = (struct hk_chunk_block_location){
	    .min_start_ticks = type == HK_SECTION_LANES ? header->lanes_min_start_ticks
							: header->long_min_start_ticks,
	    .offset = offset,
	    .number = header->number,
	    .chunk_bytes = (uint32_t)header->total_bytes,
	    .type = type,
	};
	return 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct hk_chunk_block_location *x = a, *y = b;

	if (x->min_start_ticks != y->min_start_ticks) {
		return x->min_start_ticks < y->min_start_ticks ? -1 : 1;
	}
	return (x->number > y->number) - (x->number < y->number);
}

static int add_places(struct hk_cursor *cursor, const struct hk_chunk_header *header,
		      uint64_t offset)
{
	int rc = header->records ? add_place(cursor, header, offset, HK_SECTION_LANES) : 0;

	return rc == 0 && header->long_records
		   ? add_place(cursor, header, offset, HK_SECTION_LONG_LANES)
		   : rc;
}

static int find_places(struct hk_cursor *cursor, hk_cursor_wants *wants, void *context)
{
	struct hk_chunk_walk walk = HK_CHUNK_WALK(cursor->fd);
	struct hk_cursor_stats *stats = &cursor->stats;
	struct hk_chunk_header header;
	uint64_t offset;
	int rc;

	while ((rc = hk_chunk_walk_next(&walk, &header, &offset)) > 0) {
		rc = wants(context, &header) ? add_places(cursor, &header, offset) : 0;
		if (rc < 0) {
			return rc;
		}
		stats->chunks++;
		stats->shed_records += hk_chunk_evicted_records(&header);
		stats->records += (uint64_t)header.records + header.long_records;
		stats->lost_records = header.lost_records;
		if (header.max_end_ticks > stats->max_end_ticks) {
			stats->max_end_ticks = header.max_end_ticks;
		}
		memcpy(stats->process, header.process, sizeof(stats->process));
	}
	if (rc == 0 && cursor->place_count) {
		qsort(cursor->places, cursor->place_count, sizeof(*cursor->places), compare_places);
	}
	return rc;
}

static bool is_after(void *context, const struct hk_chunk_header *header)
{
	const uint64_t *after = context;

	return header->number > *after;
}

int hk_cursor_new(struct hk_loader *loader, int fd, struct hk_cursor **ret_cursor)
{
	return hk_cursor_new_after(loader, fd, 0, ret_cursor);
}

int hk_cursor_new_after(struct hk_loader *loader, int fd, uint64_t number,
			struct hk_cursor **ret_cursor)
{
	return hk_cursor_new_some(loader, fd, is_after, &number, ret_cursor);
}

int hk_cursor_new_some(struct hk_loader *loader, int fd, hk_cursor_wants *wants, void *context,
		       struct hk_cursor **ret_cursor)
{
	struct hk_cursor *cursor = calloc(1, sizeof(*cursor));
	int rc;

	if (!cursor) {
		return -ENOMEM;
	}
	cursor->loader = loader;
	cursor->fd = fd;
	rc = hk_catalog_init(&cursor->catalog);
	if (rc == 0) {
		rc = find_places(cursor, wants, context);
	}
	if (rc < 0) {
		hk_cursor_free(cursor);
		return rc;
	}
	*ret_cursor = cursor;
	return 0;
}

struct hk_cursor *hk_cursor_free(struct hk_cursor *cursor)
{
	if (cursor) {
		for (size_t i = 0; i < cursor->heap_count; i++) {
			hk_chunk_block_free(cursor->heap[i]);
		}
		free(cursor->heap);
		free(cursor->places);
		hk_catalog_fini(&cursor->catalog);
		free(cursor);
	}
	return NULL;
}

const struct hk_chunk_site *hk_cursor_site(const struct hk_cursor *cursor, uint32_t id)
{
	return hk_catalog_find(&cursor->catalog, id);
}

const struct hk_cursor_stats *hk_cursor_stats(const struct hk_cursor *cursor)
{
	return &cursor->stats;
}
