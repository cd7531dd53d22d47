/* ranges.h: the live mappings of one process: disjoint address ranges with their owner.
 *
 * A sorted array: a process has at most some ten thousand mappings. Not thread-safe. A zeroed
 * struct is empty; fini frees.
 */
#ifndef HK_COLLECTOR_MEMORY_RANGES_H
#define HK_COLLECTOR_MEMORY_RANGES_H

#include <stddef.h>
#include <stdint.h>

#define HK_RANGES_MAX 65536u

struct hk_range {
	uint64_t start, end; /* [start, end) */
	uint32_t account;    /* number of the owner in the accounts */
};

struct hk_ranges {
	struct hk_range *list; /* by start */
	size_t count, capacity;
};

/* Told about each piece that a removal cuts away. */
typedef void hk_ranges_removed(void *context, uint32_t account, uint64_t bytes);

/* Removes [START, END) from all ranges, which may split one, and calls REMOVED for each removed
 * piece. Returns 0, or -ENOSPC or -ENOMEM if a split had no room: then the upper piece was removed
 * too. */
int hk_ranges_remove(struct hk_ranges *ranges, uint64_t start, uint64_t end,
		     hk_ranges_removed *removed, void *context);

/* Adds [START, END), which must not overlap any range (remove first). Returns 0, -ENOSPC or
 * -ENOMEM. */
int hk_ranges_add(struct hk_ranges *ranges, uint64_t start, uint64_t end, uint32_t account);

void hk_ranges_fini(struct hk_ranges *ranges);

#endif
