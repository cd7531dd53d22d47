/* Elements in another floating-point type: each value of the narrow types comes back from float32.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/compare/array/recast.h"
#include "tensor/widen.h"

/* All 65,536 values of DTYPE as float32, then back. */
static void every_value_comes_back(enum hk_dtype dtype)
{
	static uint16_t codes[65536];
	static double wide[65536];
	float *single = malloc(sizeof(*single) * 65536);

	for (unsigned i = 0; i < 65536; i++) {
		codes[i] = (uint16_t)i;
	}
	hk_widen *widen = hk_widen_function(hk_kernels_best(), dtype);
	widen(codes, 65536, wide);
	for (unsigned i = 0; i < 65536; i++) {
		single[i] = (float)wide[i];
	}
	struct hk_array array = {.dtype = HK_DTYPE_F32,
				 .dimensions = 1,
				 .shape = {65536},
				 .count = 65536,
				 .elements = single,
				 .memory = single};
	assert_int_equal(hk_array_recast(&array, dtype), 0);
	assert_int_equal(array.dtype, dtype);
	for (unsigned i = 0; i < 65536; i++) {
		uint16_t code = ((const uint16_t *)array.elements)[i];
		double back;
		widen(&code, 1, &back);
		assert_true(isnan(wide[i]) ? isnan(back) : code == codes[i]);
	}
	hk_array_free(&array);
}

static void test_halves_come_back(void **state)
{
	(void)state;
	every_value_comes_back(HK_DTYPE_F16);
	every_value_comes_back(HK_DTYPE_BF16);
}

static uint16_t half_of(double value)
{
	double *one = malloc(sizeof(*one));

	*one = value;
	struct hk_array array = {.dtype = HK_DTYPE_F64, .count = 1, .elements = one, .memory = one};
	assert_int_equal(hk_array_recast(&array, HK_DTYPE_F16), 0);
	uint16_t half = *(const uint16_t *)array.elements;
	hk_array_free(&array);
	return half;
}

static void test_halves_are_rounded_to_even(void **state)
{
	(void)state;
	assert_int_equal(half_of(65519.99), 0x7bff);
	assert_int_equal(half_of(65520), 0x7c00);
	assert_int_equal(half_of(-1e300), 0xfc00);
	assert_int_equal(half_of(1 + 0x1p-11), 0x3c00);
	assert_int_equal(half_of(1 + 0x1p-11 + 0x1p-30), 0x3c01);
	assert_int_equal(half_of(0x1p-25), 0);
	assert_int_equal(half_of(0x1.8p-25), 1);
	assert_int_equal(half_of(-0.0), 0x8000);
}

static void test_integers_stay(void **state)
{
	struct hk_array array = {.dtype = HK_DTYPE_F32};

	(void)state;
	assert_int_equal(hk_array_recast(&array, HK_DTYPE_I64), -22);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_halves_come_back),
	    cmocka_unit_test(test_halves_are_rounded_to_even),
	    cmocka_unit_test(test_integers_stay),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
