#include "dump/write/seen.h"

#include <stdlib.h>

#define SETS 32768u
#define WAYS 8u

struct hk_seen {
	uint64_t keys[SETS][WAYS]; /* 0: empty */
	uint8_t oldest[SETS];
};

struct hk_seen *hk_seen_new(void)
{
	return calloc(1, sizeof(struct hk_seen));
}

void hk_seen_free(struct hk_seen *seen)
{
	free(seen);
}

/* Digests are hashes; different counts and dtypes of one digest become different keys too. */
static uint64_t make_key(uint64_t digest, uint64_t count, uint32_t dtype)
{
	uint64_t key = digest ^ (count * 0x9e3779b97f4a7c15ull + dtype) * 0xff51afd7ed558ccdull;

	key ^= key >> 32;
	return key ? key : 1;
}

static uint64_t *find(struct hk_seen *seen, uint64_t key)
{
	uint64_t *set = seen->keys[key % SETS];

	for (unsigned way = 0; way < WAYS; way++) {
		if (set[way] == key) {
			return &set[way];
		}
	}
	return NULL;
}

bool hk_seen_add(struct hk_seen *seen, uint64_t digest, uint64_t count, uint32_t dtype)
{
	const uint64_t key = make_key(digest, count, dtype);
	uint8_t *oldest = &seen->oldest[key % SETS];

	if (find(seen, key)) {
		return false;
	}
	seen->keys[key % SETS][*oldest] = key;
	*oldest = (uint8_t)((*oldest + 1) % WAYS);
	return true;
}

void hk_seen_remove(struct hk_seen *seen, uint64_t digest, uint64_t count, uint32_t dtype)
{
	uint64_t *place = find(seen, make_key(digest, count, dtype));

	if (place) {
		*place = 0;
	}
}
