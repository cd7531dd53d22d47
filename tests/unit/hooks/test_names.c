/* The words of the language: spelled as DESIGN and the command line promise, found whole or not at
 * all. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hooks/hook.h"
#include "hooks/names.h"

static const struct {
	const char *word;
	int level;
} levels[] = {
    {"default", 0}, {"off", 1},	   {"count", 2},       {"sample", 3},
    {"time", 4},    {"record", 5}, {"record+args", 6}, {"record+stack", 7},
};

static void test_levels_have_their_words(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		uint32_t rate = 1;
		assert_int_equal(hk_level_parse(levels[i].word, &rate), levels[i].level);
		assert_int_equal(rate, 0);
		assert_string_equal(hk_level_name((unsigned)levels[i].level), levels[i].word);
	}
}

static void test_near_words_are_refused(void **state)
{
	static const char *const words[] = {"",
					    "recor",
					    "record+",
					    "record+arg",
					    "Record",
					    "offside",
					    " off",
					    "record+stack+args",
					    "record+stack:",
					    "record+stack:/s",
					    "record+stack:0/s",
					    "record+stack:5",
					    "record+stack:5s",
					    "record+stack:-5/s",
					    "record+stack:5/sec",
					    "record+stack:1000001/s",
					    "record+stack:4294967297/s",
					    "record:5/s",
					    ":5/s"};

	(void)state;
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		uint32_t rate;
		assert_int_equal(hk_level_parse(words[i], &rate), -EINVAL);
	}
}

static void test_limits_of_stacks_round_trip(void **state)
{
	static const uint32_t rates[] = {1, 9, 100, 65536, HK_STACK_RATE_MAX};
	char text[HK_LEVEL_BYTES];

	(void)state;
	for (unsigned i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		uint32_t rate = 0;
		const char *printed = hk_level_print(HK_LEVEL_STACK, rates[i], text);
		assert_int_equal(hk_level_parse(printed, &rate), HK_LEVEL_STACK);
		assert_int_equal(rate, rates[i]);
	}
	assert_string_equal(hk_level_print(HK_LEVEL_STACK, 100, text), "record+stack:100/s");
	assert_string_equal(hk_level_print(HK_LEVEL_STACK, 0, text), "record+stack");
	assert_string_equal(hk_level_print(HK_LEVEL_ARGS, 100, text), "record+args");
}

static void test_numbers_without_word_are_question_marks(void **state)
{
	(void)state;
	assert_string_equal(hk_level_name(8), "?");
	assert_string_equal(hk_level_name(UINT32_MAX), "?");
	assert_string_equal(hk_key_name(HK_KEY_NONE), "?");
	assert_string_equal(hk_key_name(HK_KEY_OLD_POINTER), "old_pointer");
	assert_string_equal(hk_key_name(HK_KEY_RESULT), "result");
	assert_string_equal(hk_key_name(HK_KEY_SOURCE_TAG + 1), "?");
}

static void test_every_table_round_trips(void **state)
{
	static const struct hk_names *const tables[] = {
	    &hk_names_level, &hk_names_type,   &hk_names_key,	 &hk_names_meaning,
	    &hk_names_error, &hk_names_memory, &hk_names_runtime};
	unsigned words = 0;

	(void)state;
	for (unsigned t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
		for (unsigned i = 0; i < tables[t]->count; i++) {
			const char *word = hk_names_get(tables[t], i);
			if (strcmp(word, "?") == 0) {
				continue;
			}
			words++;
			assert_int_equal(hk_names_find(tables[t], word, strlen(word)), i);
		}
	}
	assert_int_equal(words, 8 + 18 + 34 + 15 + 5 + 4 + 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_levels_have_their_words),
	    cmocka_unit_test(test_near_words_are_refused),
	    cmocka_unit_test(test_limits_of_stacks_round_trip),
	    cmocka_unit_test(test_numbers_without_word_are_question_marks),
	    cmocka_unit_test(test_every_table_round_trips),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
