/* The arena: hooks adjacent and aligned, texts whole, nothing outside the block, whatever its size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hooks/language/arena.h"

#define GUARD 64u

static void test_fills_to_the_end_and_no_further(void **state)
{
	static char block[8 * sizeof(struct hk_hook)];

	(void)state;
	for (size_t size = 0; size < 3 * sizeof(struct hk_hook); size += 13) {
		struct hk_hook_arena arena;
		struct hk_hook *last = NULL;
		struct hk_hook *hook;
		char *base = block + GUARD + size % 8; /* every alignment */

		memset(block, 0x5a, sizeof(block));
		hk_hook_arena_init(&arena, base, size);
		while ((hook = hk_hook_arena_hook(&arena)) != NULL) {
			assert_int_equal((uintptr_t)hook % _Alignof(struct hk_hook), 0);
			assert_true((char *)hook >= base);
			assert_true((char *)(hook + 1) <= base + size);
			assert_true(last == NULL || hook == last + 1);
			memset(hook, 0, sizeof(*hook));
			last = hook;
		}
		while (hk_hook_arena_join(&arena, "ab", 2, "c", 1) != NULL) {
		}
		while (hk_hook_arena_join(&arena, "", 0, "", 0) != NULL) {
		}
		for (size_t i = 0; i < GUARD; i++) {
			assert_int_equal(block[i], 0x5a);
			assert_int_equal(base[size + i], 0x5a);
		}
	}
}

static void test_join_puts_two_texts_together(void **state)
{
	char block[32];
	struct hk_hook_arena arena;

	(void)state;
	hk_hook_arena_init(&arena, block, sizeof(block));
	char *first = hk_hook_arena_join(&arena, "mpi_sendXX", 8, "_f08_", 5);
	char *second = hk_hook_arena_join(&arena, "*", 1, "", 0);
	assert_string_equal(first, "mpi_send_f08_");
	assert_string_equal(second, "*");
	assert_null(hk_hook_arena_join(&arena, "a", SIZE_MAX, "b", 1));
	assert_null(hk_hook_arena_join(&arena, "a", SIZE_MAX - 1, "b", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fills_to_the_end_and_no_further),
	    cmocka_unit_test(test_join_puts_two_texts_together),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
