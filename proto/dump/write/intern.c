#include "dump/write/intern.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "dump/dump.h"

struct hk_intern_entry {
	char *bytes;
	uint32_t size, hash;
};

void hk_intern_init(struct hk_intern *intern, size_t bytes_max)
{
	*intern = (struct hk_intern){.bytes_max = bytes_max};
}

void hk_intern_fini(struct hk_intern *intern)
{
	for (uint32_t i = 0; i < intern->count; i++) {
		free(intern->entries[i].bytes);
	}
	free(intern->entries);
	free(intern->slots);
	*intern = (struct hk_intern){0};
}

/* Doubles both tables. */
static bool grow(struct hk_intern *intern)
{
	uint32_t slot_count = intern->slot_count ? 2 * intern->slot_count : 256;
	uint32_t *slots = calloc(slot_count, sizeof(*slots));
	struct hk_intern_entry *entries =
	    realloc(intern->entries, slot_count / 2 * sizeof(*entries));

	if (entries) {
		intern->entries = entries;
	}
	if (!slots || !entries) {
		free(slots);
		return false;
	}
	for (uint32_t i = 0; i < intern->count; i++) {
		uint32_t at = entries[i].hash & (slot_count - 1);
		while (slots[at]) {
			at = (at + 1) & (slot_count - 1);
		}
		slots[at] = i + 1;
	}
	free(intern->slots);
	intern->slots = slots;
	intern->slot_count = slot_count;
	return true;
}

static uint32_t add(struct hk_intern *intern, uint32_t at, const struct hk_intern_entry *entry)
{
	char *copy;

	if (entry->size > intern->bytes_max - intern->bytes) {
		return HK_DUMP_NONE;
	}
	copy = malloc(entry->size + 1u);
	if (!copy) {
		return HK_DUMP_NONE;
	}
	memcpy(copy, entry->bytes, entry->size);
	intern->entries[intern->count] =
	    (struct hk_intern_entry){.bytes = copy, .size = entry->size, .hash = entry->hash};
	intern->bytes += entry->size;
	intern->slots[at] = ++intern->count;
	return intern->count - 1;
}

uint32_t hk_intern_number(struct hk_intern *intern, const void *bytes, size_t size)
{
	const uint32_t hash = (uint32_t)XXH3_64bits(bytes, size);
	uint32_t at;

	if (intern->count >= intern->slot_count / 2 && !grow(intern)) {
		return HK_DUMP_NONE;
	}
	for (at = hash & (intern->slot_count - 1); intern->slots[at];
	     at = (at + 1) & (intern->slot_count - 1)) {
		const struct hk_intern_entry *entry = &intern->entries[intern->slots[at] - 1];
		if (entry->hash == hash && entry->size == size &&
		    memcmp(entry->bytes, bytes, size) == 0) {
			return intern->slots[at] - 1;
		}
	}
	/* The copy is taken from here. */
	return add(intern, at,
		   &(struct hk_intern_entry){
		       .bytes = (char *)(uintptr_t)bytes, .size = (uint32_t)size, .hash = hash});
}
