#include "chunk/read/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)

static int reserve(struct hk_order *order, size_t count)
{
	if (count <= order->capacity) {
		return 0;
	}
	hk_order_fini(order);
	order->items = malloc(count * sizeof(*order->items));
	order->spare = malloc(count * sizeof(*order->spare));
	if (!order->items || !order->spare) {
		hk_order_fini(order);
		return -ENOMEM;
	}
	order->capacity = count;
	return 0;
}

static void sort_digit(const struct hk_order_item *from, struct hk_order_item *to, size_t count,
		       unsigned shift)
{
	size_t place[DIGITS] = {0};
	size_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		place[from[i].key >> shift & (DIGITS - 1)]++;
	}
	for (unsigned d = 0; d < DIGITS; d++) {
		size_t here = place[d];
		place[d] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++) {
		to[place[from[i].key >> shift & (DIGITS - 1)]++] = from[i];
	}
}

/* Longest first: the key of items in a tie is the duration by then. */
static int compare_ties(const void *a, const void *b)
{
	const struct hk_order_item *x = a, *y = b;

	if (x->key != y->key) {
		return x->key > y->key ? -1 : 1;
	}
	return (x->index < y->index) - (x->index > y->index);
}

static void settle_ties(struct hk_order_item *items, size_t count, const struct hk_record *records)
{
	for (size_t first = 0, next; first < count; first = next) {
		for (next = first + 1; next < count && items[next].key == items[first].key;
		     next++) {
		}
		if (next - first > 1) {
			for (size_t i = first; i < next; i++) {
				items[i].key = records[items[i].index].duration_ns;
			}
			qsort(items + first, next - first, sizeof(*items), compare_ties);
		}
	}
}

int hk_order_sort(struct hk_order *order, const struct hk_record *records, size_t count)
{
	uint64_t least = UINT64_MAX, most = 0;
	int rc = reserve(order, count + 1);

	if (rc < 0) {
		return rc;
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t start = records[i].start_ticks;
		least = start < least ? start : least;
		most = start > most ? start : most;
	}
	for (size_t i = 0; i < count; i++) {
		order->items[i] = (struct hk_order_item){.key = records[i].start_ticks - least,
							 .index = (uint32_t)i};
	}
	uint64_t range = count ? most - least : 0;
	for (unsigned shift = 0; shift < 64 && range >> shift; shift += DIGIT_BITS) {
		struct hk_order_item *sorted = order->spare;
		sort_digit(order->items, sorted, count, shift);
		order->spare = order->items;
		order->items = sorted;
	}
	settle_ties(order->items, count, records);
	return 0;
}

void hk_order_fini(struct hk_order *order)
{
	free(order->items);
	free(order->spare);
	*order = (struct hk_order){0};
}
