/* radix.h: sorts 64-bit keys whose upper halves are spread over a range. Keys are distributed to
 * buckets by their highest bits. There are more buckets than keys, so most keys are then in their
 * place or next to it. A crowded bucket is distributed once more by the bits below: clumps cost one
 * more round, never quadratic time. Pure functions; memory is the caller's. */
#ifndef HK_CHUNK_MERGE_RADIX_H
#define HK_CHUNK_MERGE_RADIX_H

#include <stddef.h>
#include <stdint.h>

#define HK_RADIX_KEYS_MAX 65535u
#define HK_RADIX_LOW_BITS 32u /* low bits that are not used for distribution */

/* Logarithm of the number of buckets that suits this many keys. */
unsigned hk_radix_bits(size_t count);

/* Number of entries to clear and add up for this many buckets. */
static inline size_t hk_radix_entries(size_t buckets)
{
	return (buckets + 3) & ~(size_t)3;
}

/* Sorts `count` keys, 1 to HK_RADIX_KEYS_MAX. Keys with the same upper half must be in order
 * already. `buckets` holds the number of keys for each value of key >> HK_RADIX_LOW_BITS >>
 * `shift`, of which there are up to `bucket_count`; it needs 2^hk_radix_bits(count) entries at
 * least. Both arrays are overwritten. Returns the number of keys that were distributed again. */
size_t hk_radix_sort(uint64_t *keys, size_t count, unsigned shift, uint16_t *buckets,
		     size_t bucket_count, uint64_t *ret_sorted);

#endif
