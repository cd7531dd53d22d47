/* The longest common subsequence against a quadratic table, on seeded sequences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cli/compare/match/align.h"

#define LENGTH 48

static size_t table_length(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count)
{
	static size_t table[LENGTH + 1][LENGTH + 1];

	for (size_t i = 0; i <= a_count; i++) {
		for (size_t j = 0; j <= b_count; j++) {
			size_t left = j ? table[i][j - 1] : 0, above = i ? table[i - 1][j] : 0;
			table[i][j] = i == 0 || j == 0	     ? 0
				      : a[i - 1] == b[j - 1] ? table[i - 1][j - 1] + 1
				      : left > above	     ? left
							     : above;
		}
	}
	return table[a_count][b_count];
}

static size_t check_twins(const uint64_t *a, size_t a_count, const uint64_t *b,
			  const uint32_t *twins)
{
	size_t paired = 0;
	int64_t last = -1;

	for (size_t i = 0; i < a_count; i++) {
		if (twins[i] != HK_ALIGN_NONE) {
			assert_true((int64_t)twins[i] > last);
			assert_int_equal(a[i], b[twins[i]]);
			last = twins[i];
			paired++;
		}
	}
	return paired;
}

static void align_finds_as_many_as_the_table(void **state)
{
	uint64_t a[LENGTH], b[LENGTH];
	uint32_t twins[LENGTH];

	(void)state;
	srand(7);
	for (int round = 0; round < 20000; round++) {
		size_t a_count = (size_t)rand() % LENGTH, b_count = (size_t)rand() % LENGTH;
		unsigned letters = 1 + (unsigned)rand() % 6;
		for (size_t i = 0; i < a_count; i++) {
			a[i] = (unsigned)rand() % letters;
		}
		for (size_t i = 0; i < b_count; i++) {
			b[i] = (unsigned)rand() % letters;
		}
		assert_int_equal(hk_align(a, a_count, b, b_count, twins), 0);
		assert_int_equal(check_twins(a, a_count, b, twins),
				 table_length(a, a_count, b, b_count));
	}
}

/* Nothing in common is not searched for ever. */
static void align_gives_up_on_what_differs_everywhere(void **state)
{
	enum { MANY = 20000 };
	uint64_t *tokens = calloc(2 * MANY, sizeof(*tokens));
	uint32_t *twins = calloc(MANY, sizeof(*twins));

	(void)state;
	assert_true(tokens && twins);
	for (uint64_t i = 0; i < 2 * MANY; i++) {
		tokens[i] = i;
	}
	assert_int_equal(hk_align(tokens, MANY, tokens + MANY, MANY, twins), 0);
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(twins[i], HK_ALIGN_NONE);
	}
	free(tokens);
	free(twins);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(align_finds_as_many_as_the_table),
	    cmocka_unit_test(align_gives_up_on_what_differs_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
