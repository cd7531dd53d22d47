/* Lines and words: continuation, comments, numbering. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hooks/language/scan.h"

static void assert_word(struct hk_word word, const char *text)
{
	assert_int_equal(word.length, strlen(text));
	assert_memory_equal(word.text, text, word.length);
}

static void test_lines_keep_their_numbers(void **state)
{
	static const char text[] = "one # rest\n"
				   "\n"
				   "two \\\n"
				   "  three\n"
				   "four # no continuation \\\n"
				   "five \\ \r\n"
				   "six";
	static const struct {
		uint32_t number;
		const char *words[3];
	} expected[] = {
	    {1, {"one"}}, {2, {NULL}}, {3, {"two", "three"}}, {5, {"four"}}, {6, {"five", "six"}},
	};
	struct hk_lines lines = {.at = text, .end = text + sizeof(text) - 1, .next = 1};
	struct hk_scan scan;
	uint32_t number;

	(void)state;
	for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		assert_true(hk_lines_next(&lines, &scan, &number));
		assert_int_equal(number, expected[i].number);
		for (unsigned w = 0; expected[i].words[w] != NULL; w++) {
			assert_false(hk_scan_done(&scan));
			assert_word(hk_scan_name(&scan), expected[i].words[w]);
		}
		assert_true(hk_scan_done(&scan));
	}
	assert_false(hk_lines_next(&lines, &scan, &number));
}

static struct hk_scan over(const char *text)
{
	return (struct hk_scan){.at = text, .end = text + strlen(text)};
}

static void test_words_stop_where_they_must(void **state)
{
	struct hk_scan scan = over(" png_*@V1(ptr\tx1 , y)=record+args\xff");

	(void)state;
	assert_word(hk_scan_glob(&scan), "png_*@V1");
	assert_false(hk_scan_take(&scan, ')'));
	assert_true(hk_scan_take(&scan, '('));
	assert_word(hk_scan_name(&scan), "ptr");
	assert_word(hk_scan_name(&scan), "x1");
	assert_true(hk_scan_take(&scan, ','));
	assert_word(hk_scan_name(&scan), "y");
	assert_word(hk_scan_name(&scan), "");
	assert_true(hk_scan_take(&scan, ')'));
	assert_true(hk_scan_take(&scan, '='));
	assert_word(hk_scan_glob(&scan), "record+args");
	assert_word(hk_scan_glob(&scan), "");
	assert_false(hk_scan_done(&scan));
}

static void test_the_first_problem_stays(void **state)
{
	struct hk_scan scan = over("x");

	(void)state;
	assert_int_equal(hk_scan_fail(&scan, "first", hk_word_of("a")), -EINVAL);
	assert_int_equal(hk_scan_fail(&scan, "second", hk_word_of("b")), -EINVAL);
	assert_string_equal(scan.problem, "first");
	assert_true(hk_word_is(scan.subject, "a"));
	assert_false(hk_word_is(scan.subject, "ab"));
	assert_false(hk_word_is(scan.subject, ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lines_keep_their_numbers),
	    cmocka_unit_test(test_words_stop_where_they_must),
	    cmocka_unit_test(test_the_first_problem_stays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
