#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tensor/loops/kernels.h"
#include "tensor/statistics.h"

#ifdef __x86_64__
#define NEAR 1000000
#define SWAPS 300
#define PLACES 20000
#else /* in an emulator */
#define NEAR 20000
#define SWAPS 20
#define PLACES 2000
#endif

static uint64_t random_state = 0x9e3779b97f4a7c15ull;

static uint64_t random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* The digest that all kinds of loops give. */
static uint64_t digest_of(const void *data, enum hk_dtype dtype, uint64_t count)
{
	struct hk_tensor tensor = {data, dtype, 1, &count, NULL};
	uint64_t digest = 0;

	for (size_t i = 0; hk_kernels_all[i]; i++) {
		struct hk_statistics statistics;
		if (!hk_kernels_all[i]->usable()) {
			continue;
		}
		assert_int_equal(hk_statistics_take_with(hk_kernels_all[i], &tensor, &statistics),
				 0);
		assert_true(digest == 0 || digest == statistics.digest);
		digest = statistics.digest;
	}
	return digest;
}

static uint64_t best_digest(const void *data, enum hk_dtype dtype, uint64_t count)
{
	struct hk_tensor tensor = {data, dtype, 1, &count, NULL};
	struct hk_statistics statistics;

	assert_int_equal(hk_statistics_take(&tensor, &statistics), 0);
	return statistics.digest;
}

static int compare_words(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void assert_all_different(uint64_t *digests, size_t count)
{
	qsort(digests, count, sizeof(*digests), compare_words);
	for (size_t i = 1; i < count; i++) {
		assert_true(digests[i - 1] != digests[i]);
	}
}

/* Each flipped bit of the elements flips about half of the digest's, and none of those stays. */
static void test_every_bit_changes_half_of_the_digest(void **state)
{
	static uint8_t data[1500];
	uint64_t all = 0, flips = 0, least = 64;
	size_t bits = sizeof(data) * 8;
	uint64_t *digests = malloc((bits + 1) * sizeof(*digests));

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++) {
		data[i] = i % 3 ? 0 : (uint8_t)random_word();
	}
	digests[bits] = digest_of(data, HK_DTYPE_F32, sizeof(data) / 4);
	for (size_t bit = 0; bit < bits; bit++) {
		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		digests[bit] = digest_of(data, HK_DTYPE_F32, sizeof(data) / 4);
		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		uint64_t changed = digests[bit] ^ digests[bits];
		uint64_t ones = (uint64_t)__builtin_popcountll(changed);
		all |= changed;
		flips += ones;
		least = ones < least ? ones : least;
	}
	assert_true(all == UINT64_MAX);
	assert_in_range(flips * 100 / bits, 3150, 3250);
	assert_in_range(least, 8, 32);
	assert_all_different(digests, bits + 1);
	free(digests);
}

/* Tensors that differ from the same one in one element or two by little. */
static void test_near_tensors_have_different_digests(void **state)
{
	uint64_t *digests = malloc(NEAR * sizeof(*digests));
	size_t found = 0;
	float data[64] = {0};

	(void)state;
	for (int i = 0; i < 50 && found < NEAR; i++) {
		for (int k = i + 1; k < 64 && found < NEAR; k++) {
			for (uint32_t change = 1; change <= 800 && found < NEAR; change++) {
				uint32_t bits = 0x3f800000u + change;
				memcpy(data + i, &bits, sizeof(bits));
				memcpy(data + k, &bits, sizeof(bits));
				digests[found++] = best_digest(data, HK_DTYPE_F32, 64);
			}
			data[i] = data[k] = 0;
		}
	}
	assert_int_equal(found, NEAR);
	assert_all_different(digests, found);
	free(digests);
}

static void swap_parts(uint8_t *a, uint8_t *b, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		uint8_t kept = a[i];
		a[i] = b[i];
		b[i] = kept;
	}
}

/* Any two elements, stripes or blocks in each other's place. */
static void test_swapped_parts_change_the_digest(void **state)
{
	const size_t sizes[] = {1, 2, 4, 8, 64, 128, 1024, HK_BLOCK_BYTES};
	size_t bytes = 5 * HK_BLOCK_BYTES + 100;
	uint8_t *data = malloc(bytes);

	(void)state;
	for (size_t i = 0; i < bytes; i++) {
		data[i] = (uint8_t)random_word();
	}
	uint64_t before = best_digest(data, HK_DTYPE_U8, bytes);
	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		size_t size = sizes[k], places = bytes / size;
		for (int i = 0; i < SWAPS; i++) {
			uint8_t *a = data + random_word() % places * size;
			uint8_t *b = data + random_word() % places * size;
			bool same = !memcmp(a, b, size);
			swap_parts(a, b, size);
			assert_true((best_digest(data, HK_DTYPE_U8, bytes) == before) == same);
			swap_parts(a, b, size);
		}
	}
	free(data);
}

/* A tensor of few different values, as masks and quantised weights are. */
static void test_moves_of_one_element_change_the_digest(void **state)
{
	static uint16_t data[PLACES];
	uint64_t *digests = malloc(PLACES * sizeof(*digests));

	(void)state;
	for (size_t i = 0; i < PLACES; i++) {
		data[i] = 0x3f80;
		digests[i] = best_digest(data, HK_DTYPE_BF16, PLACES);
		data[i] = 0;
	}
	assert_all_different(digests, PLACES);
	free(digests);
}

static void test_transposition_and_shift_change_the_digest(void **state)
{
	static float data[100 * 100 + 1];
	uint64_t shape[2] = {100, 100};
	int64_t across[2] = {1, 100};
	struct hk_statistics plain, transposed, shifted;
	struct hk_tensor tensor = {data, HK_DTYPE_F32, 2, shape, NULL};

	(void)state;
	for (size_t i = 0; i < 100 * 100 + 1; i++) {
		data[i] = (float)(i * 7 % 1000);
	}
	hk_statistics_take(&tensor, &plain);
	tensor.strides = across;
	hk_statistics_take(&tensor, &transposed);
	tensor.strides = NULL;
	tensor.data = data + 1;
	hk_statistics_take(&tensor, &shifted);
	assert_true(plain.digest != transposed.digest);
	assert_true(plain.digest != shifted.digest && transposed.digest != shifted.digest);
}

/* Zeros of different number or dtype, also where the last stripe is filled up. */
static void test_count_and_dtype_change_the_digest(void **state)
{
	enum { COUNTS = 700 };
	static uint64_t data[COUNTS], digests[HK_DTYPES * COUNTS];
	size_t found = 0;

	(void)state;
	for (int dtype = HK_DTYPE_BOOL; dtype < HK_DTYPES; dtype++) {
		for (uint64_t count = 0; count < COUNTS; count++) {
			digests[found++] = best_digest(data, (enum hk_dtype)dtype, count);
		}
	}
	assert_all_different(digests, found);
}

/* Dumps of other versions and machines are compared with: a digest never changes. */
static void test_digest_is_the_documented_one(void **state)
{
	float data[1000];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		data[i] = (float)i / 8;
	}
	assert_true(digest_of(data, HK_DTYPE_F32, 0) == 0xff94a2d9990205cbull);
	assert_true(digest_of(data, HK_DTYPE_F32, 1) == 0x418ee0ec18990c8eull);
	assert_true(digest_of(data, HK_DTYPE_F32, 1000) == 0xa754fbc87d5c4e9eull);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_bit_changes_half_of_the_digest),
	    cmocka_unit_test(test_near_tensors_have_different_digests),
	    cmocka_unit_test(test_swapped_parts_change_the_digest),
	    cmocka_unit_test(test_moves_of_one_element_change_the_digest),
	    cmocka_unit_test(test_transposition_and_shift_change_the_digest),
	    cmocka_unit_test(test_count_and_dtype_change_the_digest),
	    cmocka_unit_test(test_digest_is_the_documented_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
