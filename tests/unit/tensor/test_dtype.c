#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tensor/dtype.h"

static void test_each_name_is_parsed_back(void **state)
{
	(void)state;
	for (int i = HK_DTYPE_BOOL; i < HK_DTYPES; i++) {
		assert_int_equal(hk_dtype_parse(hk_dtype_name((enum hk_dtype)i)), i);
		assert_in_range(hk_dtype_bytes((enum hk_dtype)i), 1, 8);
	}
}

static void test_frameworks_names_are_known(void **state)
{
	static const struct {
		const char *name;
		enum hk_dtype dtype;
	} names[] = {
	    {"torch.float32", HK_DTYPE_F32},
	    {"Float32", HK_DTYPE_F32},
	    {"paddle.bfloat16", HK_DTYPE_BF16},
	    {"BFloat16", HK_DTYPE_BF16},
	    {"<f4", HK_DTYPE_F32},
	    {"<f8", HK_DTYPE_F64},
	    {"|u1", HK_DTYPE_U8},
	    {"|b1", HK_DTYPE_BOOL},
	    {"half", HK_DTYPE_F16},
	    {"torch.float8_e4m3fn", HK_DTYPE_F8_E4M3},
	    {"VarType.FP16", HK_DTYPE_F16},
	    {"torch.bool", HK_DTYPE_BOOL},
	    {"numpy.bool_", HK_DTYPE_BOOL},
	    {"mindspore.int64", HK_DTYPE_I64},
	    {"torch.float8_e5m2", HK_DTYPE_F8_E5M2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_int_equal(hk_dtype_parse(names[i].name), names[i].dtype);
	}
}

static void test_other_names_and_numbers_are_unknown(void **state)
{
	static const char *const names[] = {"",	 "torch.", ">f4",  "complex64",
					    "?", "float3", "qint8"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_int_equal(hk_dtype_parse(names[i]), HK_DTYPE_NONE);
	}
	assert_int_equal(hk_dtype_bytes(HK_DTYPE_NONE), 0);
	assert_int_equal(hk_dtype_bytes((enum hk_dtype)HK_DTYPES), 0);
	assert_int_equal(hk_dtype_bytes((enum hk_dtype) - 1), 0);
	assert_string_equal(hk_dtype_name((enum hk_dtype)99), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_name_is_parsed_back),
	    cmocka_unit_test(test_frameworks_names_are_known),
	    cmocka_unit_test(test_other_names_and_numbers_are_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
