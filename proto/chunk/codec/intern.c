#include "chunk/codec/intern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define FIRST_SLOTS 256u
#define KEYS_MAX (1u << 24)

static uint64_t random_seed(const void *salt)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed)) {
		/* Early in a boot there is no randomness: an address and the time replace it. */
		seed = (uint64_t)(uintptr_t)salt ^ (uint64_t)time(NULL) << 20;
	}
	return seed;
}

int hk_intern_init(struct hk_intern *table)
{
	table->slots = calloc(FIRST_SLOTS, sizeof(*table->slots));
	if (!table->slots) {
		return -ENOMEM;
	}
	table->mask = FIRST_SLOTS - 1;
	table->count = 0;
	table->seed = random_seed(table->slots);
	return 0;
}

static void place(struct hk_intern *table, uint64_t key, uint32_t number)
{
	uint32_t i = hk_intern_hash(table, key);

	while (table->slots[i].number) {
		i = (i + 1) & table->mask;
	}
	table->slots[i].key = key;
	table->slots[i].number = number + 1;
}

static int double_slots(struct hk_intern *table)
{
	struct hk_intern old = *table;
	struct hk_intern_slot *slots = calloc(((size_t)old.mask + 1) * 2, sizeof(*slots));

	if (!slots) {
		return -ENOMEM;
	}
	table->slots = slots;
	table->mask = old.mask * 2 + 1;
	for (size_t i = 0; i <= old.mask; i++) {
		if (old.slots[i].number) {
			place(table, old.slots[i].key, old.slots[i].number - 1);
		}
	}
	free(old.slots);
	return 0;
}

int hk_intern_add(struct hk_intern *table, uint64_t key, uint32_t *ret_number)
{
	uint32_t number = hk_intern_find(table, key);

	if (number != HK_INTERN_NONE) {
		*ret_number = number;
		return 0;
	}
	if (table->count == KEYS_MAX) {
		return -ENOSPC;
	}
	/* At most half full: probes stay short. */
	if (table->count * 2 > table->mask) {
		int rc = double_slots(table);
		if (rc < 0) {
			return rc;
		}
	}
	*ret_number = table->count;
	place(table, key, table->count++);
	return 0;
}

void hk_intern_clear(struct hk_intern *table)
{
	memset(table->slots, 0, ((size_t)table->mask + 1) * sizeof(*table->slots));
	table->count = 0;
}

void hk_intern_fini(struct hk_intern *table)
{
	free(table->slots);
	*table = (struct hk_intern){0};
}
