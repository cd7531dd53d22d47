#include "hooks/index.h"

#include <string.h>

static bool has_wildcard(const char *glob)
{
	return strpbrk(glob, "*?") != NULL;
}

static unsigned pair_of(const char *symbol)
{
	return (unsigned)(uint8_t)symbol[0] << 8 | (symbol[0] ? (uint8_t)symbol[1] : 0);
}

static unsigned filter_bit(uint32_t hash)
{
	return (hash >> 1) % HK_INDEX_HASHES;
}

static bool is_set(const uint8_t *bits, unsigned bit)
{
	return bits[bit / 8] >> bit % 8 & 1;
}

static void set(uint8_t *bits, unsigned bit)
{
	bits[bit / 8] |= (uint8_t)(1u << bit % 8);
}

/* Returns the buckets of an index over COUNT hooks: a power of two. */
static uint32_t buckets_for(uint32_t count)
{
	uint32_t buckets = 64;
	while (buckets < count * 2) {
		buckets *= 2;
	}
	return buckets;
}

size_t hk_index_bytes(uint32_t count)
{
	return (HK_INDEX_PAIRS + HK_INDEX_HASHES) / 8 +
	       ((size_t)buckets_for(count) + 3 * (size_t)count) * sizeof(uint32_t);
}

uint32_t hk_index_hash(const char *symbol)
{
	uint32_t hash = 5381;
	for (; *symbol; symbol++) {
		hash = hash * 33 + (uint8_t)*symbol;
	}
	return hash;
}

void hk_index_build(const char *const *symbols, uint32_t count, void *room,
		    struct hk_index *ret_index)
{
	uint32_t bucket_count = buckets_for(count);
	uint32_t *buckets = room;
	uint32_t *next = buckets + bucket_count;
	uint32_t *hashes = next + count;
	uint32_t *globs = hashes + count;
	uint8_t *pairs = (uint8_t *)(globs + count);
	uint8_t *filter = pairs + HK_INDEX_PAIRS / 8;
	uint32_t glob_count = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (has_wildcard(symbols[i])) {
			globs[glob_count++] = i;
			continue;
		}
		hashes[i] = hk_index_hash(symbols[i]);
		set(pairs, pair_of(symbols[i]));
		set(filter, filter_bit(hashes[i]));
		uint32_t *bucket = &buckets[hashes[i] >> 1 & (bucket_count - 1)];
		next[i] = *bucket;
		*bucket = i + 1;
	}
	*ret_index = (struct hk_index){
	    .pairs = pairs,
	    .filter = filter,
	    .hashes = hashes,
	    .buckets = buckets,
	    .next = next,
	    .globs = globs,
	    .bucket_mask = bucket_count - 1,
	    .glob_count = glob_count,
	};
}

bool hk_index_begins(const struct hk_index *index, const char *symbol)
{
	return is_set(index->pairs, pair_of(symbol));
}

bool hk_index_passes(const struct hk_index *index, uint32_t hash)
{
	return is_set(index->filter, filter_bit(hash));
}

uint32_t hk_index_first(const struct hk_index *index, uint32_t hash)
{
	return index->buckets[hash >> 1 & index->bucket_mask];
}
