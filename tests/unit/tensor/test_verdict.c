#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tensor/verdict.h"

static const uint64_t shape[] = {1000};

static struct hk_statistics usual_statistics(void)
{
	return (struct hk_statistics){.count = 1000,
				      .min = -3,
				      .max = 3.25,
				      .mean = 0.01,
				      .l2 = sqrt(1000),
				      .deviation = 1,
				      .digest = 7};
}

static enum hk_verdict judge(enum hk_dtype dtype_a, const struct hk_statistics *a,
			     enum hk_dtype dtype_b, const struct hk_statistics *b, char *reason)
{
	struct hk_verdict_side side_a = {dtype_a, 1, shape, a}, side_b = {dtype_b, 1, shape, b};
	struct hk_tolerance tolerance = hk_tolerance_of(dtype_a, dtype_b, HK_DTYPE_NONE, 1);

	memset(reason, 'x', HK_VERDICT_ROOM);
	enum hk_verdict verdict = hk_verdict_take(&side_a, &side_b, NULL, &tolerance, reason);
	assert_non_null(memchr(reason, 0, HK_VERDICT_ROOM));
	return verdict;
}

static void test_figures_that_are_unknown_are_not_compared(void **state)
{
	struct hk_statistics a = usual_statistics(), b = a;
	char reason[HK_VERDICT_ROOM];

	(void)state;
	a.digest = 0;
	a.l2 = a.deviation = NAN;
	assert_int_equal(judge(HK_DTYPE_F32, &a, HK_DTYPE_F32, &b, reason), HK_VERDICT_AGREES);
	a.mean = 0.02;
	assert_int_equal(judge(HK_DTYPE_F32, &a, HK_DTYPE_F32, &b, reason), HK_VERDICT_DIFFERS);
	assert_string_equal(reason, "mean 0.02, in B 0.01: 0.01 apart, float32 allows 6.34e-05");
	a.min = a.max = a.mean = NAN;
	assert_int_equal(judge(HK_DTYPE_F32, &a, HK_DTYPE_F32, &b, reason),
			 HK_VERDICT_NOT_COMPARED);
}

static void test_mean_is_judged_by_the_elements_size(void **state)
{
	struct hk_statistics a = usual_statistics(), b = a;
	char reason[HK_VERDICT_ROOM];

	(void)state;
	a.digest = 8;
	a.mean = 1e-9;
	b.mean = -3e-9;
	assert_int_equal(judge(HK_DTYPE_F32, &a, HK_DTYPE_F32, &b, reason), HK_VERDICT_AGREES);
	a.mean = 0.11;
	assert_int_equal(judge(HK_DTYPE_BF16, &a, HK_DTYPE_F32, &b, reason), HK_VERDICT_AGREES);
	assert_int_equal(judge(HK_DTYPE_F16, &a, HK_DTYPE_F32, &b, reason), HK_VERDICT_DIFFERS);
}

static void test_other_numbers_of_nan_and_inf_differ(void **state)
{
	struct hk_statistics a = usual_statistics(), b = a;
	char reason[HK_VERDICT_ROOM];

	(void)state;
	a.digest = 8;
	a.negative_infs = 2;
	assert_int_equal(judge(HK_DTYPE_BF16, &a, HK_DTYPE_F32, &b, reason), HK_VERDICT_DIFFERS);
	assert_string_equal(reason, "0 NaN, 0 +Inf, 2 -Inf; in B 0 NaN, 0 +Inf, 0 -Inf");
	b.positive_infs = 2;
	assert_int_equal(judge(HK_DTYPE_BF16, &a, HK_DTYPE_F32, &b, reason), HK_VERDICT_DIFFERS);
}

static void test_unknown_dtypes_are_not_compared(void **state)
{
	struct hk_statistics a = usual_statistics();
	char reason[HK_VERDICT_ROOM];

	(void)state;
	assert_int_equal(judge(HK_DTYPE_NONE, &a, HK_DTYPE_F32, &a, reason),
			 HK_VERDICT_NOT_COMPARED);
	assert_string_equal(reason, "the dtype of A is unknown");
	assert_int_equal(judge(HK_DTYPE_F32, &a, (enum hk_dtype)77, &a, reason),
			 HK_VERDICT_NOT_COMPARED);
}

/* The largest figures that there are fit a reason. */
static void test_reasons_fit_their_room(void **state)
{
	struct hk_statistics a = {.count = UINT64_MAX,
				  .nans = UINT64_MAX,
				  .positive_infs = UINT64_MAX,
				  .negative_infs = UINT64_MAX};
	struct hk_statistics b = {.count = UINT64_MAX,
				  .min = -1.2345678e300,
				  .max = 1.2345678e300,
				  .mean = -1.2345678e300,
				  .l2 = 1.2345678e300,
				  .deviation = 1.2345678e300};
	struct hk_difference difference = {.count = UINT64_MAX,
					   .euclidean = 1.2345678e-300,
					   .max_abs = 1.2345678e-300,
					   .max_abs_at = UINT64_MAX,
					   .within_1000 = 1.2345678e-300,
					   .within_dtype = 1.2345678e-300};
	struct hk_verdict_side side_a = {HK_DTYPE_F8_E4M3, 1, shape, &a};
	struct hk_verdict_side side_b = {HK_DTYPE_F8_E4M3, 1, shape, &b};
	struct hk_tolerance tolerance = {HK_DTYPE_F8_E4M3, 1.2345678e-300, 1.2345678e-300, 0};
	char reason[HK_VERDICT_ROOM];

	(void)state;
	for (int i = 0; i < 4; i++) {
		hk_verdict_take(&side_a, &side_b, i % 2 ? &difference : NULL, &tolerance, reason);
		assert_in_range(strlen(reason), 10, HK_VERDICT_ROOM - 2);
		a = b;
		a.max = -1.2345678e300;
		difference.euclidean = 1.2345678e300;
	}
}

static void test_tolerances_are_those_of_the_narrower_dtype(void **state)
{
	struct hk_tolerance tolerance =
	    hk_tolerance_of(HK_DTYPE_F32, HK_DTYPE_BF16, HK_DTYPE_NONE, 1);

	(void)state;
	assert_int_equal(tolerance.narrower, HK_DTYPE_BF16);
	assert_true(fabs(tolerance.relative - (40.0 / 256 + 1024 * 0x1p-24)) < 1e-15);
	tolerance = hk_tolerance_of(HK_DTYPE_F32, HK_DTYPE_F32, HK_DTYPE_F16, 2);
	assert_int_equal(tolerance.narrower, HK_DTYPE_F16);
	assert_true(fabs(tolerance.relative - 2 * (40.0 / 2048 + 1024 * 0x1p-24)) < 1e-15);
	tolerance = hk_tolerance_of(HK_DTYPE_F64, HK_DTYPE_F64, HK_DTYPE_NONE, 1);
	assert_true(fabs(tolerance.relative / (1064 * 0x1p-53) - 1) < 1e-12);
	tolerance = hk_tolerance_of(HK_DTYPE_I64, HK_DTYPE_I32, HK_DTYPE_NONE, 1);
	assert_true(tolerance.relative == 0);
	assert_true(hk_tolerance_of(HK_DTYPE_I64, HK_DTYPE_F8_E5M2, HK_DTYPE_NONE, 1).relative ==
		    0.25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_figures_that_are_unknown_are_not_compared),
	    cmocka_unit_test(test_mean_is_judged_by_the_elements_size),
	    cmocka_unit_test(test_other_numbers_of_nan_and_inf_differ),
	    cmocka_unit_test(test_unknown_dtypes_are_not_compared),
	    cmocka_unit_test(test_reasons_fit_their_room),
	    cmocka_unit_test(test_tolerances_are_those_of_the_narrower_dtype),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
