#include "dump/read/definitions.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void hk_ranges_fini(struct hk_ranges *ranges)
{
	for (size_t i = 0; i < ranges->count; i++) {
		free(ranges->ranges[i].body);
		free(ranges->ranges[i].items);
	}
	free(ranges->ranges);
	*ranges = (struct hk_ranges){0};
}

/* A range with a copy of BODY, not yet added. */
static int new_range(const struct hk_ranges *ranges, const struct hk_dump_block *block,
		     const void *body, size_t size, struct hk_range *range)
{
	const struct hk_range *last = ranges->count ? &ranges->ranges[ranges->count - 1] : NULL;
	const uint64_t first = block->argument[0], count = block->argument[1];

	if (count > size || first > HK_DUMP_NONE - count ||
	    (last && first < (uint64_t)last->first + last->count)) {
		return -EBADMSG;
	}
	*range = (struct hk_range){.first = (uint32_t)first, .count = (uint32_t)count};
	range->body = malloc(size + 1);
	range->items = malloc((count + 1) * sizeof(range->items[0]));
	if (!range->body || !range->items) {
		free(range->body);
		free(range->items);
		return -ENOMEM;
	}
	memcpy(range->body, body, size);
	return 0;
}

/* Adds RANGE, whose items are filled in if RIGHT. */
static int add_range(struct hk_ranges *ranges, const struct hk_range *range, bool right)
{
	struct hk_range *larger = NULL;

	if (right) {
		larger = realloc(ranges->ranges, (ranges->count + 1) * sizeof(*larger));
	}
	if (!larger) {
		free(range->body);
		free(range->items);
		return right ? -ENOMEM : -EBADMSG;
	}
	ranges->ranges = larger;
	ranges->ranges[ranges->count++] = *range;
	return 0;
}

int hk_ranges_add_texts(struct hk_ranges *ranges, const struct hk_dump_block *block,
			const void *body, size_t size)
{
	struct hk_range range;
	int rc = new_range(ranges, block, body, size, &range);
	const char *at;
	size_t left = size;
	uint32_t i;

	if (rc != 0) {
		return rc;
	}
	at = range.body;
	for (i = 0; i < range.count; i++) {
		const char *end = memchr(at, '\0', left);
		if (!end) {
			break;
		}
		range.items[i] = at;
		left -= (size_t)(end + 1 - at);
		at = end + 1;
	}
	return add_range(ranges, &range, i == range.count && left == 0);
}

int hk_ranges_add_stacks(struct hk_ranges *ranges, const struct hk_dump_block *block,
			 const void *body, size_t size)
{
	struct hk_range range;
	int rc = new_range(ranges, block, body, size, &range);
	const uint32_t *at;
	size_t left = size / sizeof(*at);
	uint32_t i;

	if (rc != 0) {
		return rc;
	}
	at = range.body;
	for (i = 0; i < range.count; i++) {
		if (left == 0 || at[0] > left - 1) {
			break;
		}
		range.items[i] = at;
		left -= at[0] + 1u;
		at += at[0] + 1u;
	}
	return add_range(ranges, &range, i == range.count && left == 0 && size % sizeof(*at) == 0);
}

const void *hk_ranges_find(const struct hk_ranges *ranges, uint32_t number)
{
	size_t low = 0, high = ranges->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct hk_range *range = &ranges->ranges[middle];
		if (number < range->first) {
			high = middle;
		} else if (number - range->first >= range->count) {
			low = middle + 1;
		} else {
			return range->items[number - range->first];
		}
	}
	return NULL;
}
