#include "chunk/merge/radix.h"

#include <string.h>

/* A key that would have to pass more than this many others shows that its bucket got too many. */
#define CLUMP 16u

/* Four counts in a word, the first lowest; in the product each place holds the sum of its count and
 * those before it. */
#define COUNTS 4u
#define COUNT_BITS 16u
#define ADD_UP 0x0001000100010001ull

/* Two to four buckets for each key: few keys meet. */
unsigned hk_radix_bits(size_t count)
{
	unsigned bits = 2;

	while ((size_t)1 << bits < 2 * count) {
		bits++;
	}
	return bits;
}

/* Turns the number of keys of each bucket into the place of its first. */
static void add_up(uint16_t *buckets, size_t count)
{
	uint64_t before = 0;

	for (size_t i = 0; i < count; i += COUNTS) {
		uint64_t counts, sums;
		memcpy(&counts, buckets + i, sizeof(counts));
		sums = counts * ADD_UP;
		counts = before * ADD_UP + (sums << COUNT_BITS);
		before += sums >> (64 - COUNT_BITS);
		memcpy(buckets + i, &counts, sizeof(counts));
	}
}

static void deal(const uint64_t *keys, size_t count, unsigned shift, uint16_t *buckets,
		 uint64_t *ret_dealt)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t key = keys[i];
		ret_dealt[buckets[key >> shift]++] = key;
	}
}

/* Distributes the keys around `at` whose bits above `shift` are equal once more. Returns the index
 * behind them. */
static size_t deal_again(uint64_t *dealt, size_t at, size_t count, unsigned shift,
			 uint16_t *buckets, uint64_t *space)
{
	const uint64_t bucket = dealt[at] >> shift, base = bucket << shift;
	unsigned bits, bits_left = shift - HK_RADIX_LOW_BITS;
	size_t first = at, end = at + 1;

	while (first && dealt[first - 1] >> shift == bucket) {
		first--;
	}
	while (end < count && dealt[end] >> shift == bucket) {
		end++;
	}
	bits = hk_radix_bits(end - first);
	bits = bits < bits_left ? bits : bits_left;
	shift -= bits;
	memset(buckets, 0, hk_radix_entries((size_t)1 << bits) * sizeof(*buckets));
	for (size_t i = first; i < end; i++) {
		space[i - first] = dealt[i] - base;
		buckets[(dealt[i] - base) >> shift]++;
	}
	hk_radix_sort(space, end - first, shift - HK_RADIX_LOW_BITS, buckets, (size_t)1 << bits,
		      dealt + first);
	for (size_t i = first; i < end; i++) {
		dealt[i] += base;
	}
	return end;
}

/* Moves a key down to its place among the keys before it. */
static void sink(uint64_t *sorted, size_t at)
{
	uint64_t key = sorted[at];

	for (; at && sorted[at - 1] > key; at--) {
		sorted[at] = sorted[at - 1];
	}
	sorted[at] = key;
}

size_t hk_radix_sort(uint64_t *keys, size_t count, unsigned shift, uint16_t *buckets,
		     size_t bucket_count, uint64_t *ret_sorted)
{
	uint64_t *sorted = ret_sorted, last = 0, highest;
	const unsigned key_shift = shift + HK_RADIX_LOW_BITS;
	size_t again = 0;

	add_up(buckets, bucket_count);
	deal(keys, count, key_shift, buckets, sorted);
	highest = sorted[0];
	/* Swaps neighbours without a branch; longer moves are rare. */
	for (size_t i = 1; i < count; i++) {
		uint64_t key = sorted[i], lower = key < highest ? key : highest;
		highest = key < highest ? highest : key;
		sorted[i - 1] = lower;
		if (lower >= last) {
			last = lower;
		} else if (shift && i > CLUMP &&
			   sorted[i - 1 - CLUMP] >> key_shift == lower >> key_shift) {
			sorted[i] = highest;
			size_t end = deal_again(sorted, i, count, key_shift, buckets, keys);
			again += end - i;
			i = end - 1;
			last = highest = sorted[i];
		} else {
			sink(sorted, i - 1);
		}
	}
	sorted[count - 1] = highest;
	return again;
}
