#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ring/segment.h"
#include "sketch/histogram.h"

static uint64_t random_state = 0x9e3779b97f4a7c15ull;

static uint64_t random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* A duration whose magnitude is uniform in bits, so that all octaves are met. */
static uint64_t random_duration(unsigned bits)
{
	return (random_word() >> 20) & ((1ull << (random_word() % (bits + 1))) - 1);
}

/* The ranges written out step by step, without the closed formula. */
static uint32_t bucket_by_search(uint64_t duration_ns)
{
	uint64_t lower = 0, width = 1;
	uint32_t bucket = 0;

	while (bucket + 1 < HK_HISTOGRAM_BUCKETS && duration_ns >= lower + width) {
		lower += width;
		bucket++;
		if (bucket >= 64 && bucket % 32 == 0) {
			width *= 2;
		}
	}
	return bucket;
}

static void test_bucket_holds_its_durations(void **state)
{
	(void)state;
	for (uint64_t d = 0; d < 5000; d++) {
		assert_int_equal(hk_histogram_index(d), bucket_by_search(d));
	}
	for (int i = 0; i < 20000; i++) {
		uint64_t d = random_duration(43);
		assert_int_equal(hk_histogram_index(d), bucket_by_search(d));
	}
	assert_int_equal(hk_histogram_index((1ull << 40) - 1), 1151);
	assert_int_equal(hk_histogram_index(1ull << 40), 1151);
	assert_int_equal(hk_histogram_index(UINT64_MAX), 1151);
}

static void test_buckets_tile_the_range(void **state)
{
	uint64_t next = 0;

	(void)state;
	for (uint32_t i = 0; i < HK_HISTOGRAM_BUCKETS; i++) {
		assert_int_equal(hk_histogram_lower_ns(i), next);
		next += hk_histogram_width_ns(i);
		assert_int_equal(hk_histogram_index(next - 1), i);
		assert_true(i < 64 || hk_histogram_width_ns(i) * 32 <= hk_histogram_lower_ns(i));
	}
	assert_int_equal(next, 1ull << 40);
}

static void add(struct hk_histogram *histogram, uint64_t duration_ns)
{
	histogram->bucket[hk_histogram_index(duration_ns)]++;
}

static uint64_t quantile_of(const struct hk_histogram *histogram, double quantile)
{
	static uint32_t bucket[HK_HISTOGRAM_BUCKETS];
	static uint64_t count[HK_HISTOGRAM_BUCKETS];
	size_t used = 0;

	for (uint32_t i = 0; hk_histogram_next(histogram, &i); i++) {
		bucket[used] = i;
		count[used++] = histogram->bucket[i];
	}
	return hk_histogram_sparse_quantile(bucket, count, used, quantile);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void check_quantiles(uint64_t *values, size_t count)
{
	struct hk_histogram histogram = {0};

	for (size_t i = 0; i < count; i++) {
		add(&histogram, values[i]);
	}
	qsort(values, count, sizeof(*values), compare);
	for (int permille = 0; permille <= 1000; permille++) {
		double q = permille / 1000.0;
		double rank = ceil(q * (double)count);
		uint64_t exact = values[rank < 1 ? 0 : (size_t)rank - 1];
		uint64_t got = quantile_of(&histogram, q);
		uint64_t off = got > exact ? got - exact : exact - got;
		assert_true((double)off <= (double)exact / 64);
	}
}

static void test_quantile_is_within_one_64th_of_the_exact_one(void **state)
{
	static uint64_t values[20000];

	(void)state;
	for (int round = 0; round < 40; round++) {
		size_t count = 1 + random_word() % 20000;
		for (size_t i = 0; i < count; i++) {
			/* Rounds of one bucket, of the exact range, of all octaves, and of two far
			 * clusters. */
			uint64_t r = random_word();
			values[i] = round % 4 == 0   ? 1000000 + r % 30000
				    : round % 4 == 1 ? r % 64
				    : round % 4 == 2 ? random_duration(40)
						     : (r & 1 ? 700 : 90000000) + r % 50;
		}
		check_quantiles(values, count);
	}
}

static void test_octaves_and_walk_rebuild_the_histogram(void **state)
{
	struct hk_histogram from = {0}, by_octave = {0}, by_walk = {0};
	uint64_t nothing[HK_HISTOGRAM_OCTAVE_BUCKETS] = {1};

	(void)state;
	for (int i = 0; i < 3000; i++) {
		add(&from, random_duration(40));
	}
	for (uint32_t o = 0; o < HK_HISTOGRAM_OCTAVES; o++) {
		hk_histogram_add_octave(&by_octave, o,
					from.bucket + o * HK_HISTOGRAM_OCTAVE_BUCKETS);
	}
	hk_histogram_add_octave(&by_octave, HK_HISTOGRAM_OCTAVES, nothing);
	for (uint32_t i = 0; hk_histogram_next(&from, &i); i++) {
		assert_true(from.bucket[i] > 0);
		by_walk.bucket[i] = from.bucket[i];
	}
	assert_memory_equal(&from, &by_octave, sizeof(from));
	assert_memory_equal(&from, &by_walk, sizeof(from));
}

static void test_hostile_counts_stick_and_odd_quantiles_answer(void **state)
{
	struct hk_histogram histogram = {0};
	const uint64_t octave[HK_HISTOGRAM_OCTAVE_BUCKETS] = {[7] = 1};

	(void)state;
	assert_int_equal(quantile_of(&histogram, 0.5), 0);
	histogram.bucket[7] = UINT64_MAX;
	histogram.bucket[9] = UINT64_MAX;
	hk_histogram_add_octave(&histogram, 0, octave);
	assert_int_equal(histogram.bucket[7], UINT64_MAX);
	assert_int_equal(quantile_of(&histogram, 0.99), 7);
	histogram.bucket[7] = 1;
	histogram.bucket[9] = 1;
	assert_int_equal(quantile_of(&histogram, -1), 7);
	assert_int_equal(quantile_of(&histogram, NAN), 7);
	assert_int_equal(quantile_of(&histogram, 2), 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bucket_holds_its_durations),
	    cmocka_unit_test(test_buckets_tile_the_range),
	    cmocka_unit_test(test_quantile_is_within_one_64th_of_the_exact_one),
	    cmocka_unit_test(test_octaves_and_walk_rebuild_the_histogram),
	    cmocka_unit_test(test_hostile_counts_stick_and_odd_quantiles_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
