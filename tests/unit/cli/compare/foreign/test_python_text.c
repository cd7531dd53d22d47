/* Numbers as Python prints them, and JSON as Python writes it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/compare/foreign/json_text.h"
#include "cli/compare/foreign/python_text.h"

static void test_numbers_are_as_short_as_pythons(void **state)
{
	static const struct {
		double number;
		const char *text;
	} numbers[] = {{0, "0.0"},
		       {-1, "-1.0"},
		       {0.1, "0.1"},
		       {1e-05, "1e-05"},
		       {0.0001, "0.0001"},
		       {1e16, "1e+16"},
		       {123456.5, "123456.5"},
		       {1e15, "1000000000000000.0"},
		       {0.1 + 0.2, "0.30000000000000004"},
		       {-1.1368683772161603e-13, "-1.1368683772161603e-13"},
		       {INFINITY, "inf"},
		       {-INFINITY, "-inf"},
		       {NAN, "nan"},
		       {5e-324, "5e-324"},
		       {1.7976931348623157e308, "1.7976931348623157e+308"}};

	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		char text[HK_PYTHON_NUMBER_BYTES];
		assert_string_equal(hk_python_number(text, numbers[i].number), numbers[i].text);
	}
}

static void quoted(const char *text, const char *wanted)
{
	size_t length;
	char *result = hk_json_text_quote(text, strlen(text), &length);

	assert_string_equal(result, wanted);
	assert_int_equal(length, strlen(wanted));
	free(result);
}

static void test_numbers_that_json_has_not_become_strings(void **state)
{
	(void)state;
	quoted("[NaN,-Infinity, Infinity]", "[\"NaN\",\"-Infinity\", \"Infinity\"]");
	quoted("{\"NaN\":1e5,\"a\\\"NaN\":NaN}", "{\"NaN\":1e5,\"a\\\"NaN\":\"NaN\"}");
	quoted("[123456789012345678, 1234567890123456789, -1234567890123456789]",
	       "[123456789012345678, \"1234567890123456789\", \"-1234567890123456789\"]");
	quoted("NaNs \"open NaN", "NaNs \"open \"NaN\"");
	quoted("", "");
}

static void test_values_as_numbers(void **state)
{
	char reason[HK_ARRAY_REASON_BYTES];
	const char *text = "[1, 2.5, true, NaN, 12345678901234567890, \"x\", null]";
	json_t *list = hk_json_text_parse(text, strlen(text), reason);

	(void)state;
	assert_non_null(list);
	const double wanted[] = {1, 2.5, 1, NAN, 12345678901234567890.0, NAN, NAN};
	for (size_t i = 0; i < json_array_size(list); i++) {
		double number = hk_json_text_number(json_array_get(list, i));
		assert_true(isnan(wanted[i]) ? isnan(number) : number == wanted[i]);
	}
	json_decref(list);
	assert_null(hk_json_text_parse("[1", 2, reason));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_numbers_are_as_short_as_pythons),
	    cmocka_unit_test(test_numbers_that_json_has_not_become_strings),
	    cmocka_unit_test(test_values_as_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
