#include "tracer_map.h"

#include <stdlib.h>

static size_t start_of(const struct hk_map *map, uintptr_t key)
{
	return (size_t)((key * 0x9e3779b97f4a7c15ULL) >> 20) & (map->room - 1);
}

/* Returns the entry of KEY, or the free one where it would be. There is a free one. */
static size_t find(const struct hk_map *map, uintptr_t key)
{
	size_t at = start_of(map, key);

	while (map->entries[at].key && map->entries[at].key != key) {
		at = (at + 1) & (map->room - 1);
	}
	return at;
}

static int grow(struct hk_map *map)
{
	struct hk_map larger = {.room = map->room ? map->room * 2 : 256, .count = map->count};

	larger.entries = calloc(larger.room, sizeof(*larger.entries));
	if (!larger.entries) {
		return -1;
	}
	for (size_t i = 0; i < map->room; i++) {
		if (map->entries[i].key) {
			larger.entries[find(&larger, map->entries[i].key)] = map->entries[i];
		}
	}
	free(map->entries);
	*map = larger;
	return 0;
}

uint64_t *hk_map_at(struct hk_map *map, uintptr_t key)
{
	if (map->count * 2 >= map->room && grow(map) < 0) {
		return NULL;
	}
	struct hk_map_entry *entry = &map->entries[find(map, key)];
	if (!entry->key) {
		*entry = (struct hk_map_entry){.key = key};
		map->count++;
	}
	return &entry->value;
}

void hk_map_remove(struct hk_map *map, uintptr_t key)
{
	if (!map->room) {
		return;
	}
	size_t mask = map->room - 1, hole = find(map, key);
	if (!map->entries[hole].key) {
		return;
	}
	map->count--;
	/* Entries after it that would not be found across the hole move into it. */
	for (size_t at = (hole + 1) & mask; map->entries[at].key; at = (at + 1) & mask) {
		size_t start = start_of(map, map->entries[at].key);
		if (((at - start) & mask) >= ((at - hole) & mask)) {
			map->entries[hole] = map->entries[at];
			hole = at;
		}
	}
	map->entries[hole] = (struct hk_map_entry){0};
}
