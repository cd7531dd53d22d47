/* order.h: the order in which readers see records: by start; of calls that start together the outer
 * one first. Records lie in a chunk in order of their ends, lane by lane. They are sorted by a
 * radix sort of (start, index) pairs, five times as fast as a comparing sort. Threading: locked by
 * the caller. Lifetime: {0}, any sorts, fini. */
#ifndef HK_CHUNK_READ_ORDER_H
#define HK_CHUNK_READ_ORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "chunk/codec/record.h"

struct hk_order_item {
	uint64_t key;
	uint32_t index;
	uint32_t reserved;
};

struct hk_order {
	struct hk_order_item
	    *items; /* after a sort: the `index` of item i is that of the i-th record */
	struct hk_order_item *spare;
	size_t capacity;
};

/* Whether a comes before b: it starts earlier, or with b and lasts longer. */
static inline bool hk_order_before(const struct hk_record *a, const struct hk_record *b)
{
	return a->start_ticks != b->start_ticks ? a->start_ticks < b->start_ticks
						: a->duration_ns > b->duration_ns;
}

/* Sorts the positions of `count` records, fewer than 2^32. Of equal ones the one that ended later,
 * and so lies later, comes first: it is the outer call. Returns 0 or -ENOMEM. */
int hk_order_sort(struct hk_order *order, const struct hk_record *records, size_t count);

/* Frees the memory; accepts a zeroed one. */
void hk_order_fini(struct hk_order *order);

#endif
