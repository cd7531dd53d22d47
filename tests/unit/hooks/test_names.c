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
		assert_int_equal(hk_level_parse(levels[i].word), levels[i].level);
		assert_string_equal(hk_level_name((unsigned)levels[i].level), levels[i].word);
	}
}

static void test_near_words_are_refused(void **state)
{
	static const char *const words[] = {"",	      "recor",	 "record+", "record+arg",
					    "Record", "offside", " off",    "record+stack+args"};

	(void)state;
	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_int_equal(hk_level_parse(words[i]), -EINVAL);
	}
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
	static const struct hk_names *const tables[] = {&hk_names_level, &hk_names_type,
							&hk_names_key,	 &hk_names_meaning,
							&hk_names_error, &hk_names_memory};
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
	assert_int_equal(words, 8 + 16 + 31 + 15 + 5 + 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_levels_have_their_words),
	    cmocka_unit_test(test_near_words_are_refused),
	    cmocka_unit_test(test_numbers_without_word_are_question_marks),
	    cmocka_unit_test(test_every_table_round_trips),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
