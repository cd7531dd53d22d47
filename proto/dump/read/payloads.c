#include "dump/read/payloads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WHOLE_MAX (4ull << 30) /* bytes of elements, unless as many are stored */
#define WHOLE_RATIO 64u

struct hk_part {
	uint64_t digest, count, dtype_offset; /* as in the block: this is the order */
	uint64_t at;
	struct hk_dump_block block;
};

struct hk_whole {
	uint64_t digest, count, bytes;
	uint32_t dtype;
	size_t first, parts;
};

void hk_payloads_fini(struct hk_payloads *payloads)
{
	free(payloads->parts);
	free(payloads->wholes);
	free(payloads->elements);
	*payloads = (struct hk_payloads){0};
}

int hk_payloads_add(struct hk_payloads *payloads, const struct hk_dump_block *block, uint64_t at)
{
	if (hk_dtype_bytes((enum hk_dtype)(block->argument[2] & 0xff)) == 0 ||
	    block->raw_bytes > HK_DUMP_BODY_MAX || block->raw_bytes < block->stored_bytes) {
		return -EBADMSG;
	}
	if (payloads->part_count == payloads->part_room) {
		size_t room = 2 * payloads->part_room + 64;
		struct hk_part *larger = realloc(payloads->parts, room * sizeof(*larger));
		if (!larger) {
			return -ENOMEM;
		}
		payloads->parts = larger;
		payloads->part_room = room;
	}
	payloads->parts[payloads->part_count++] =
	    (struct hk_part){.digest = block->argument[0],
			     .count = block->argument[1],
			     .dtype_offset = block->argument[2],
			     .at = at,
			     .block = *block};
	return 0;
}

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int order_key(uint64_t digest, uint64_t count, uint32_t dtype, const struct hk_whole *whole)
{
	int rc = order(digest, whole->digest);

	rc = rc ? rc : order(count, whole->count);
	return rc ? rc : order(dtype, whole->dtype);
}

static int order_parts(const void *left, const void *right)
{
	const struct hk_part *a = left, *b = right;
	int rc = order(a->digest, b->digest);

	rc = rc ? rc : order(a->count, b->count);
	rc = rc ? rc : order(a->dtype_offset & 0xff, b->dtype_offset & 0xff);
	rc = rc ? rc : order(a->dtype_offset, b->dtype_offset);
	return rc ? rc : order(a->at, b->at);
}

static bool is_same(const struct hk_part *a, const struct hk_part *b)
{
	return a->digest == b->digest && a->count == b->count &&
	       (a->dtype_offset & 0xff) == (b->dtype_offset & 0xff);
}

/* The parts of one tensor from FIRST to END: a second copy of a part is dropped. Returns whether
 * they are all there. */
static bool join(struct hk_part *parts, size_t first, size_t end, struct hk_whole *whole)
{
	const struct hk_part *part = &parts[first];
	uint64_t stored = 0, done = 0;
	size_t kept = first;

	*whole = (struct hk_whole){.digest = part->digest,
				   .count = part->count,
				   .first = first,
				   .dtype = (uint32_t)(part->dtype_offset & 0xff)};
	if (__builtin_mul_overflow(whole->count, hk_dtype_bytes((enum hk_dtype)whole->dtype),
				   &whole->bytes)) {
		return false;
	}
	for (size_t i = first; i < end; i++) {
		if (parts[i].dtype_offset >> 8 == done &&
		    (done < whole->bytes || (kept == first && whole->bytes == 0))) {
			done += parts[i].block.raw_bytes;
			stored += parts[i].block.stored_bytes;
			parts[kept++] = parts[i];
		}
	}
	whole->parts = kept - first;
	return kept > first && done == whole->bytes &&
	       (done <= WHOLE_MAX || done / WHOLE_RATIO <= stored);
}

int hk_payloads_sort(struct hk_payloads *payloads)
{
	struct hk_part *parts = payloads->parts;
	size_t end;

	payloads->wholes = malloc((payloads->part_count + 1) * sizeof(payloads->wholes[0]));
	if (!payloads->wholes) {
		return -ENOMEM;
	}
	if (payloads->part_count > 0) {
		qsort(parts, payloads->part_count, sizeof(parts[0]), order_parts);
	}
	for (size_t first = 0; first < payloads->part_count; first = end) {
		end = first + 1;
		while (end < payloads->part_count && is_same(&parts[first], &parts[end])) {
			end++;
		}
		payloads->whole_count +=
		    join(parts, first, end, &payloads->wholes[payloads->whole_count]);
	}
	return 0;
}

static const struct hk_whole *find(const struct hk_payloads *payloads,
				   const struct hk_dump_cells *cells)
{
	size_t low = 0, high = payloads->whole_count;

	if (cells->flags & HK_DUMP_NO_STATISTICS) {
		return NULL;
	}
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct hk_whole *whole = &payloads->wholes[middle];
		int rc = order_key(cells->digest, cells->count, cells->dtype, whole);
		if (rc == 0) {
			return whole;
		}
		low = rc > 0 ? middle + 1 : low;
		high = rc < 0 ? middle : high;
	}
	return NULL;
}

bool hk_payloads_has(const struct hk_payloads *payloads, const struct hk_dump_cells *cells)
{
	return find(payloads, cells) != NULL;
}

const void *hk_payloads_read(struct hk_payloads *payloads, struct hk_blocks *blocks,
			     const struct hk_dump_cells *cells, const char **reason)
{
	const struct hk_whole *whole = find(payloads, cells);
	char *to;

	if (!whole) {
		*reason = "its elements are not stored";
		return NULL;
	}
	if (whole->bytes >= payloads->room) {
		free(payloads->elements);
		payloads->elements = malloc(whole->bytes + 1);
		payloads->room = payloads->elements ? whole->bytes + 1 : 0;
	}
	to = payloads->elements;
	if (!to) {
		*reason = "no memory for its elements";
		return NULL;
	}
	for (size_t i = whole->first; i < whole->first + whole->parts; i++) {
		const struct hk_part *part = &payloads->parts[i];
		int rc = hk_blocks_read(blocks, &part->block, part->at, to);
		if (rc != 0) {
			*reason = rc == -ENOTSUP  ? "a newer version wrote its elements"
				  : rc == -ENOMEM ? "no memory for its elements"
						  : "its elements are damaged";
			return NULL;
		}
		to += part->block.raw_bytes;
	}
	return payloads->elements;
}
