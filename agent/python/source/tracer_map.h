/* tracer_map.h: a map of addresses to numbers. Its caller has the GIL. A zeroed map is empty. */
#ifndef HK_PYTHON_TRACER_MAP_H
#define HK_PYTHON_TRACER_MAP_H

#include <stddef.h>
#include <stdint.h>

struct hk_map_entry {
	uintptr_t key; /* 0: free */
	uint64_t value;
};

struct hk_map {
	struct hk_map_entry *entries;
	size_t room; /* 0 or a power of two */
	size_t count;
};

/* Returns where the value of KEY, which is not 0, is: 0 if KEY is new. Returns NULL if there is no
 * memory. Valid until the next call. */
uint64_t *hk_map_at(struct hk_map *map, uintptr_t key);

void hk_map_remove(struct hk_map *map, uintptr_t key);

#endif
