#include "collector/symbol/die_ranges.h"

#include <errno.h>
#include <stdlib.h>

#define RANGES_MOST (2u << 20)
#define AROUND_MOST \
	16u /* ranges that begin between an address and the start of the one around it */

static int add(struct hk_die_ranges *ranges, uint64_t start, uint64_t end, const Dwarf_Die *die)
{
	if (start >= end || ranges->count >= RANGES_MOST) {
		return 0;
	}
	if (ranges->count == ranges->room) {
		size_t room = ranges->room ? 2 * ranges->room : 64;
		struct hk_die_range *larger = reallocarray(ranges->ranges, room, sizeof(*larger));
		if (!larger) {
			return -ENOMEM;
		}
		ranges->ranges = larger;
		ranges->room = room;
	}
	ranges->ranges[ranges->count++] = (struct hk_die_range){start, end, *die};
	return 0;
}

int hk_die_ranges_add(struct hk_die_ranges *ranges, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;
	int r = 0;

	while (r == 0 && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		r = add(ranges, start, end, die);
	}
	return r;
}

static int by_start(const void *a, const void *b)
{
	const struct hk_die_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

void hk_die_ranges_sort(struct hk_die_ranges *ranges)
{
	if (ranges->count > 1) {
		qsort(ranges->ranges, ranges->count, sizeof(*ranges->ranges), by_start);
	}
}

Dwarf_Die *hk_die_ranges_find(const struct hk_die_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ranges->ranges[middle].start <= address) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	for (size_t i = 0; i < AROUND_MOST && i < low; i++) {
		struct hk_die_range *range = &ranges->ranges[low - 1 - i];
		if (address < range->end) {
			return &range->die;
		}
	}
	return NULL;
}

void hk_die_ranges_fini(struct hk_die_ranges *ranges)
{
	free(ranges->ranges);
	*ranges = (struct hk_die_ranges){.ranges = NULL};
}
