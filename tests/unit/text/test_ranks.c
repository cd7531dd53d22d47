/* Lists of ranks as ranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/ranks.h"

#define CHECK(wanted, size, ...)                                                                  \
	do {                                                                                      \
		const int32_t ranks[] = {__VA_ARGS__};                                            \
		char text[64];                                                                    \
		assert_string_equal(                                                              \
		    hk_ranks_print(text, size, ranks, sizeof(ranks) / sizeof(ranks[0])), wanted); \
	} while (0)

static void test_neighbours_become_ranges(void **state)
{
	(void)state;
	CHECK("7", 64, 7);
	CHECK("0,1", 64, 0, 1);
	CHECK("0-2,4", 64, 0, 1, 2, 4);
	CHECK("0,2,4-7", 64, 0, 2, 4, 5, 6, 7);
	CHECK("2147483646,2147483647", 64, INT32_MAX - 1, INT32_MAX);
}

static void test_no_ranks_are_no_text(void **state)
{
	char text[8];
	(void)state;
	assert_string_equal(hk_ranks_print(text, sizeof(text), NULL, 0), "");
}

static void test_a_long_list_ends_with_dots(void **state)
{
	(void)state;
	CHECK("0,2,...", 8, 0, 2, 4, 6, 8);
	CHECK("0,2,4,6", 12, 0, 2, 4, 6);
	CHECK("...", 8, 1000000, 1000002, 1000004);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_neighbours_become_ranges),
	    cmocka_unit_test(test_no_ranks_are_no_text),
	    cmocka_unit_test(test_a_long_list_ends_with_dots),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
