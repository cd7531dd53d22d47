#include "model.h"

#include <string.h>

#include "chunk/merge/radix.h"

static int compare_keys(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Sorts keys whose upper halves take `bits` bits and lie in up to `clumps` narrow places; dealt to
 * 2^(bits - shift) buckets at first. */
static void one_round(size_t count, unsigned bits, unsigned shift, size_t clumps)
{
	size_t bucket_count = (size_t)1 << (bits - shift);
	size_t room = bucket_count > (size_t)1 << hk_radix_bits(count)
			  ? bucket_count
			  : (size_t)1 << hk_radix_bits(count);
	uint64_t *keys = calloc(count, sizeof(*keys)), *truth = calloc(count, sizeof(*truth));
	uint64_t *sorted = calloc(count, sizeof(*sorted));
	uint16_t *buckets = calloc(hk_radix_entries(room), sizeof(*buckets));

	for (size_t i = 0; i < count; i++) {
		uint64_t upper =
		    clumps ? model_below(clumps) * 7919 * 7919 + model_below(9) : model_random();
		upper &= ((uint64_t)1 << bits) - 1;
		/* Equal ones are in order. */
		keys[i] = upper << HK_RADIX_LOW_BITS | i;
		buckets[upper >> shift]++;
	}
	memcpy(truth, keys, count * sizeof(*keys));
	qsort(truth, count, sizeof(*truth), compare_keys);
	hk_radix_sort(keys, count, shift, buckets, bucket_count, sorted);
	assert_memory_equal(sorted, truth, count * sizeof(*sorted));
	free(keys);
	free(truth);
	free(sorted);
	free(buckets);
}

static void test_keys_come_out_sorted(void **state)
{
	const size_t counts[] = {1, 2, 3, 17, 100, 4096, HK_RADIX_KEYS_MAX};
	const size_t clumps[] = {0, 1, 2, 50, 3000};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		for (size_t k = 0; k < sizeof(clumps) / sizeof(*clumps); k++) {
			one_round(counts[i], 32, 32 - 12, clumps[k]);
			one_round(counts[i], 31, 31 - 1, clumps[k]);
			one_round(counts[i], 20, 20 - 17, clumps[k]);
			one_round(counts[i], 10, 0, clumps[k]);
			one_round(counts[i], 4, 4, clumps[k]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_keys_come_out_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
