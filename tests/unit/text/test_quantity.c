/* Numbers as people read them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "text/quantity.h"

static void test_durations(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} cases[] = {
	    {0, "0ns"},
	    {999, "999ns"},
	    {1000, "1.0us"},
	    {31000, "31us"},
	    {999499, "999us"},
	    {999500, "1.0ms"},
	    {4000000, "4.0ms"},
	    {412000000, "412ms"},
	    {1230000000, "1.23s"},
	    {15310000000, "15.3s"},
	    {130000000000, "2m10s"},
	    {7500000000000, "2h05m"},
	    {UINT64_MAX, "5124095h34m"},
	};
	char text[HK_QUANTITY_BYTES];
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(hk_quantity_duration(text, cases[i].ns), cases[i].text);
	}
}

static void test_bytes(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
	    {0, "0 B"},
	    {1023, "1023 B"},
	    {1024, "1.00 KiB"},
	    {222298112, "212 MiB"},
	    {2061584302, "1.92 GiB"},
	    {1048575, "1.00 MiB"},
	    {UINT64_MAX, "16.0 EiB"},
	};
	char text[HK_QUANTITY_BYTES];
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(hk_quantity_bytes(text, cases[i].bytes), cases[i].text);
	}
}

/* As the page writes them: format.js. */
static void test_times_in_sentences_are_as_on_the_page(void **state)
{
	static const struct {
		double ns;
		const char *text;
	} times[] = {
	    {0, "0 ns"},
	    {870, "870 ns"},
	    {999.4, "999 ns"},
	    {999.6, "1.00 \302\265s"},
	    {31e3, "31.0 \302\265s"},
	    {42e6, "42.0 ms"},
	    {420e6, "420 ms"},
	    {999.6e6, "1.00 s"},
	    {1.234e9, "1.23 s"},
	    {15.31e9, "15.3 s"},
	    {119e9, "119 s"},
	    {125.4e9, "2 min 05 s"},
	    {11220e9, "3 h 07 min"},
	};
	char text[HK_QUANTITY_BYTES];
	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		assert_string_equal(hk_quantity_time(text, times[i].ns), times[i].text);
	}
}

static void test_counts_and_seconds(void **state)
{
	char text[HK_QUANTITY_BYTES];
	(void)state;
	assert_string_equal(hk_quantity_count(text, 0), "0");
	assert_string_equal(hk_quantity_count(text, 0.42), "0.4");
	assert_string_equal(hk_quantity_count(text, 98400), "98400");
	assert_string_equal(hk_quantity_count(text, 155200), "155k");
	assert_string_equal(hk_quantity_count(text, 1.9e6), "1.9M");
	assert_string_equal(hk_quantity_seconds(text, 15.31e9), "15.31");
	assert_string_equal(hk_quantity_seconds(text, 42e6), "0.042");
	assert_string_equal(hk_quantity_seconds(text, 31e3), "0.000031");
	assert_string_equal(hk_quantity_seconds(text, 0), "0.00");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_times_in_sentences_are_as_on_the_page),
	    cmocka_unit_test(test_durations),
	    cmocka_unit_test(test_bytes),
	    cmocka_unit_test(test_counts_and_seconds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
