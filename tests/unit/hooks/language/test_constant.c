/* Numbers of `return` lines, against bits worked out by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hooks/language/constant.h"

static void test_numbers_are_bits(void **state)
{
	static const struct {
		const char *text;
		uint64_t bits;
	} cases[] = {
	    {"0", 0},
	    {"7", 7},
	    {"-1", UINT64_MAX},
	    {"18446744073709551615", UINT64_MAX},
	    {"0xff", 255},
	    {"0xFFFFffff00000001", 0xffffffff00000001},
	    {"-0x10", 0xfffffffffffffff0},
	    {"1.0", 0x3ff0000000000000},
	    {"-2.", 0xc000000000000000},
	    {".5", 0x3fe0000000000000},
	    {"0.1", 0x3fb999999999999a},
	    {"1.5f", 0x3fc00000},
	    {"-0.25f", 0xbe800000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t bits = 1;
		assert_int_equal(hk_constant_parse(cases[i].text, strlen(cases[i].text), &bits), 0);
		assert_int_equal(bits, cases[i].bits);
	}
}

static void test_what_is_no_number_is_refused(void **state)
{
	static const struct {
		const char *text;
		int result;
	} cases[] = {
	    {"", -EINVAL},
	    {"-", -EINVAL},
	    {"--1", -EINVAL},
	    {"+1", -EINVAL},
	    {"a", -EINVAL},
	    {"1a", -EINVAL},
	    {"0x", -EINVAL},
	    {"0xg", -EINVAL},
	    {".", -EINVAL},
	    {".f", -EINVAL},
	    {"1.2.3", -EINVAL},
	    {"1.5ff", -EINVAL},
	    {"1e5", -EINVAL},
	    {"18446744073709551616", -ERANGE},
	    {"0x10000000000000000", -ERANGE},
	    {"1.000000000000000000", -ERANGE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t bits;
		assert_int_equal(hk_constant_parse(cases[i].text, strlen(cases[i].text), &bits),
				 cases[i].result);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_numbers_are_bits),
	    cmocka_unit_test(test_what_is_no_number_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
