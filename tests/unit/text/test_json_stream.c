/* The JSON writer against jansson, and the UTF-8 check against an exhaustive table of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/json_stream.h"
#include "text/utf8.h"

static void test_document_reads_back(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *output = open_memstream(&text, &size);
	struct hk_json json = {.output = output};
	json_t *root, *list;
	json_error_t error;

	(void)state;
	hk_json_open(&json, NULL, '{');
	hk_json_string(&json, "a\"b\\", "tab\t esc\033[31m quote\" back\\ bad\xff\xc3 ok\xc3\xa9");
	hk_json_open(&json, "list", '[');
	hk_json_newline(&json);
	hk_json_int(&json, NULL, INT64_MIN);
	hk_json_newline(&json);
	hk_json_uint(&json, NULL, 0);
	hk_json_open(&json, NULL, '[');
	hk_json_close(&json, ']');
	hk_json_hex(&json, NULL, UINT64_MAX);
	hk_json_close(&json, ']');
	hk_json_int(&json, "last", INT64_MAX);
	hk_json_close(&json, '}');
	fclose(output);

	root = json_loads(text, 0, &error);
	assert_non_null(root);
	assert_string_equal(
	    json_string_value(json_object_get(root, "a\"b\\")),
	    "tab\t esc\033[31m quote\" back\\ bad\xef\xbf\xbd\xef\xbf\xbd ok\xc3\xa9");
	list = json_object_get(root, "list");
	assert_int_equal(json_array_size(list), 4);
	assert_true(json_integer_value(json_array_get(list, 0)) == INT64_MIN);
	assert_string_equal(json_string_value(json_array_get(list, 3)), "0xffffffffffffffff");
	assert_true(json_integer_value(json_object_get(root, "last")) == INT64_MAX);
	json_decref(root);
	free(text);
}

static void test_microseconds_are_exact(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {{0, "0.000"},
		     {1, "0.001"},
		     {999, "0.999"},
		     {1000, "1.000"},
		     {-1, "-0.001"},
		     {-12345, "-12.345"},
		     {1234567890123, "1234567890.123"},
		     {INT64_MIN, "-9223372036854775.808"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[64] = "";
		FILE *output = fmemopen(text, sizeof(text), "w");
		struct hk_json json = {.output = output};

		hk_json_microseconds(&json, NULL, cases[i].ns);
		fclose(output);
		assert_string_equal(text, cases[i].text);
	}
}

/* Encodes every code point by arithmetic: these and no others are valid. */
static size_t encode(uint32_t point, char text[5])
{
	memset(text, 0, 5);
	if (point < 0x80) {
		text[0] = (char)point;
		return 1;
	}
	if (point < 0x800) {
		text[0] = (char)(0xc0 | point >> 6);
		text[1] = (char)(0x80 | (point & 63));
		return 2;
	}
	if (point < 0x10000) {
		text[0] = (char)(0xe0 | point >> 12);
		text[1] = (char)(0x80 | (point >> 6 & 63));
		text[2] = (char)(0x80 | (point & 63));
		return 3;
	}
	text[0] = (char)(0xf0 | point >> 18);
	text[1] = (char)(0x80 | (point >> 12 & 63));
	text[2] = (char)(0x80 | (point >> 6 & 63));
	text[3] = (char)(0x80 | (point & 63));
	return 4;
}

static void test_every_code_point_but_surrogates_is_valid(void **state)
{
	char text[5];

	(void)state;
	for (uint32_t point = 1; point < 0x110000; point++) {
		size_t length = encode(point, text);
		bool surrogate = point >= 0xd800 && point < 0xe000;

		assert_int_equal(hk_utf8_length(text), surrogate ? 0 : length);
	}
	encode(0x110000, text);
	assert_int_equal(hk_utf8_length(text), 0);
}

static void test_overlong_and_torn_forms_are_invalid(void **state)
{
	static const char *const bad[] = {"",
					  "\x80",
					  "\xc0\x80",
					  "\xc1\xbf",
					  "\xe0\x9f\xbf",
					  "\xf0\x8f\xbf\xbf",
					  "\xc3",
					  "\xe2\x82",
					  "\xf0\x9f\x98",
					  "\xf8\x88\x80\x80\x80"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(hk_utf8_length(bad[i]), 0);
	}
}

static void test_copy_is_cut_between_characters(void **state)
{
	char buffer[8];

	(void)state;
	assert_int_equal(hk_utf8_copy("abcde\xc3\xa9z", buffer, sizeof(buffer)), 7);
	assert_string_equal(buffer, "abcde\xc3\xa9");
	assert_int_equal(hk_utf8_copy("abcdef\xc3\xa9", buffer, sizeof(buffer)), 6);
	assert_string_equal(buffer, "abcdef");
	assert_int_equal(hk_utf8_copy("abcd\xff\xff", buffer, sizeof(buffer)), 7);
	assert_string_equal(buffer, "abcd\xef\xbf\xbd");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_document_reads_back),
	    cmocka_unit_test(test_microseconds_are_exact),
	    cmocka_unit_test(test_every_code_point_but_surrogates_is_valid),
	    cmocka_unit_test(test_overlong_and_torn_forms_are_invalid),
	    cmocka_unit_test(test_copy_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
