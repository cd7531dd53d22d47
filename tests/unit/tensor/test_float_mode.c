#include <fenv.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tensor/difference.h"
#include "tensor/statistics.h"

static const float data[] = {1, NAN, INFINITY, -INFINITY, 0, 1e-40f, 3e38f, 1.1f};
static const uint64_t shape[] = {8};
static const struct hk_tensor tensor = {data, HK_DTYPE_F32, 1, shape, NULL};

/* A program that traps on NaN is not stopped, and keeps its flags. */
static void test_traps_and_flags_are_the_callers(void **state)
{
	struct hk_statistics statistics;
	struct hk_difference difference;

	(void)state;
	feclearexcept(FE_ALL_EXCEPT);
	feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
	assert_int_equal(hk_statistics_take(&tensor, &statistics), 0);
	assert_int_equal(hk_difference_take(&tensor, &tensor, &difference), 0);
	assert_int_equal(fetestexcept(FE_ALL_EXCEPT), 0);
	fedisableexcept(FE_ALL_EXCEPT);
	assert_int_equal(statistics.nans, 1);
	assert_int_equal(difference.equal, 8);
}

static void test_rounding_of_the_caller_changes_nothing(void **state)
{
	struct hk_statistics nearest, upward;

	(void)state;
	assert_int_equal(hk_statistics_take(&tensor, &nearest), 0);
	fesetround(FE_UPWARD);
	assert_int_equal(hk_statistics_take(&tensor, &upward), 0);
	assert_int_equal(fegetround(), FE_UPWARD);
	fesetround(FE_TONEAREST);
	assert_memory_equal(&nearest, &upward, sizeof(nearest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_traps_and_flags_are_the_callers),
	    cmocka_unit_test(test_rounding_of_the_caller_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
