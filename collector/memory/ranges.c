#include "collector/memory/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns the index of the first range that ends after ADDRESS. */
static size_t first_after(const struct hk_ranges *ranges, uint64_t address)
{
	size_t low = 0, high = ranges->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ranges->list[middle].end > address) {
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	return low;
}

static int insert(struct hk_ranges *ranges, size_t at, struct hk_range range)
{
	if (ranges->count >= HK_RANGES_MAX) {
		return -ENOSPC;
	}
	if (ranges->count == ranges->capacity) {
		size_t capacity = ranges->capacity ? ranges->capacity * 2 : 64;
		struct hk_range *list = realloc(ranges->list, capacity * sizeof(*list));
		if (!list) {
			return -ENOMEM;
		}
		ranges->list = list;
		ranges->capacity = capacity;
	}
	memmove(&ranges->list[at + 1], &ranges->list[at],
		(ranges->count - at) * sizeof(*ranges->list));
	ranges->list[at] = range;
	ranges->count++;
	return 0;
}

int hk_ranges_remove(struct hk_ranges *ranges, uint64_t start, uint64_t end,
		     hk_ranges_removed *removed, void *context)
{
	size_t i = first_after(ranges, start);
	if (i < ranges->count && ranges->list[i].start < start && ranges->list[i].end > end) {
		struct hk_range upper = {end, ranges->list[i].end, ranges->list[i].account};
		ranges->list[i].end = start;
		removed(context, upper.account, end - start);
		int r = insert(ranges, i + 1, upper);
		if (r < 0) {
			removed(context, upper.account, upper.end - upper.start);
		}
		return r;
	}
	if (i < ranges->count && ranges->list[i].start < start) {
		removed(context, ranges->list[i].account, ranges->list[i].end - start);
		ranges->list[i].end = start;
		i++;
	}
	size_t gone = i;
	while (gone < ranges->count && ranges->list[gone].end <= end) {
		removed(context, ranges->list[gone].account,
			ranges->list[gone].end - ranges->list[gone].start);
		gone++;
	}
	if (gone < ranges->count && ranges->list[gone].start < end) {
		removed(context, ranges->list[gone].account, end - ranges->list[gone].start);
		ranges->list[gone].start = end;
	}
	if (gone > i) {
		memmove(&ranges->list[i], &ranges->list[gone],
			(ranges->count - gone) * sizeof(*ranges->list));
		ranges->count -= gone - i;
	}
	return 0;
}

int hk_ranges_add(struct hk_ranges *ranges, uint64_t start, uint64_t end, uint32_t account)
{
	return insert(ranges, first_after(ranges, start), (struct hk_range){start, end, account});
}

void hk_ranges_fini(struct hk_ranges *ranges)
{
	free(ranges->list);
	memset(ranges, 0, sizeof(*ranges));
}
