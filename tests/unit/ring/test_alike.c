/* Many records looked at together: one that differs, or has an escaped duration, is seen wherever
 * it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ring/reader_map.h"

#define SIZE_MAX_WORDS (HK_RECORD_HEADER_WORDS + HK_RECORD_WORDS_MAX)

static uint64_t words[HK_ALIKE_STEP * SIZE_MAX_WORDS];

static bool look(size_t size, uint64_t like)
{
	return hk_records_alike(words, size, like);
}

static void test_any_difference_is_seen(void **state)
{
	(void)state;
	for (uint32_t payload = 0; payload <= HK_RECORD_WORDS_MAX; payload++) {
		size_t size = HK_RECORD_HEADER_WORDS + payload;
		uint64_t like =
		    hk_record_word1(0, 0, HK_RECORD_CALL, payload) >> HK_RECORD_KIND_SHIFT;
		/* What is not a second word may be anything. */
		for (size_t i = 0; i < HK_ALIKE_STEP * size; i++) {
			words[i] = UINT64_MAX;
		}
		for (uint32_t i = 0; i < HK_ALIKE_STEP; i++) {
			words[i * size + 1] =
			    hk_record_word1(HK_DURATION_ESCAPE - 1 - i, HK_SITES_MAX - 1 - i,
					    HK_RECORD_CALL, payload);
		}
		assert_true(look(size, like));
		for (uint32_t i = 0; i < HK_ALIKE_STEP; i++) {
			uint64_t *word = &words[i * size + 1], was = *word;
			for (uint32_t bit = HK_RECORD_KIND_SHIFT; bit < 64; bit++) {
				*word = was ^ 1ull << bit;
				assert_false(look(size, like));
			}
			*word = was | HK_DURATION_ESCAPE;
			assert_false(look(size, like));
			*word = was;
			assert_true(look(size, like));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_any_difference_is_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
