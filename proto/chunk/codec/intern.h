/* intern.h: gives each distinct 64-bit key a small number, 0.. in the order of arrival. An
 * open-addressing table with a random seed: keys come from the memory of traced processes, which
 * must not be able to choose their slots. Holds at most 2^24 keys. Threading: locked by the caller.
 * Lifetime: init, any calls, fini; clear keeps the memory. */
#ifndef HK_CHUNK_CODEC_INTERN_H
#define HK_CHUNK_CODEC_INTERN_H

#include <stdbool.h>
#include <stdint.h>

#define HK_INTERN_NONE UINT32_MAX

struct hk_intern_slot {
	uint64_t key;
	uint32_t number; /* number + 1; 0: free */
	uint32_t reserved;
};

struct hk_intern {
	struct hk_intern_slot *slots;
	uint64_t seed;
	uint32_t mask;
	uint32_t count;
};

/* First slot to probe for a key. */
static inline uint32_t hk_intern_hash(const struct hk_intern *table, uint64_t key)
{
	uint64_t h = (key ^ table->seed) * 0x9fb21c651e98df25ull;

	h = (h ^ h >> 32 ^ table->seed) * 0xc2b2ae3d27d4eb4full;
	return (uint32_t)(h >> 32) & table->mask;
}

/* Number of a key, HK_INTERN_NONE if it was never added. The table must be initialised. */
static inline uint32_t hk_intern_find(const struct hk_intern *table, uint64_t key)
{
	for (uint32_t i = hk_intern_hash(table, key);; i = (i + 1) & table->mask) {
		const struct hk_intern_slot *slot = &table->slots[i];
		if (slot->key == key && slot->number) {
			return slot->number - 1;
		}
		if (!slot->number) {
			return HK_INTERN_NONE;
		}
	}
}

/* Makes an empty table. Returns 0 or -ENOMEM. */
int hk_intern_init(struct hk_intern *table);

/* Sets *ret_number to the number of a key; a new key is added with the count before the call.
 * Returns 0, -ENOMEM, or -ENOSPC beyond 2^24 keys. */
int hk_intern_add(struct hk_intern *table, uint64_t key, uint32_t *ret_number);

/* Forgets all keys. */
void hk_intern_clear(struct hk_intern *table);

/* Frees the table; accepts a zeroed one. */
void hk_intern_fini(struct hk_intern *table);

#endif
