/* radix.h: sorts 64-bit keys whose upper halves are spread over a range.
 *
 * Keys are dealt to buckets by their highest bits. There are more buckets than keys, so most keys
 * are then in their place or next to it. A bucket that got many is dealt again by the bits below:
 * clumps cost a round more, never a square. Pure functions; memory is the caller's. */
#ifndef HK_CHUNK_MERGE_RADIX_H
#define HK_CHUNK_MERGE_RADIX_H

#include <stddef.h>
#include <stdint.h>

#define HK_RADIX_KEYS_MAX 65535u
#define HK_RADIX_LOW_BITS 32u /* of a key that it is never dealt by */

/* Logarithm of the number of buckets that suits so many keys. */
unsigned hk_radix_bits(size_t count);

/* Entries to be cleared and added up for so many buckets. */
static inline size_t hk_radix_entries(size_t buckets)
{
	return (buckets + 3) & ~(size_t)3;
}

/* Sorts `count` keys, 1 to HK_RADIX_KEYS_MAX. Keys with the same upper half must be in order
 * already. `buckets` holds how many keys have each value of key >> HK_RADIX_LOW_BITS >> `shift`,
 * of which there are up to `bucket_count`; it needs 2^hk_radix_bits(count) entries at least. Both
 * it and `keys` are used up. Returns how many keys were dealt again. */
size_t hk_radix_sort(uint64_t *keys, size_t count, unsigned shift, uint16_t *buckets,
		     size_t bucket_count, uint64_t *ret_sorted);

#endif
