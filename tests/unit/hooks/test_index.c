/* From a name to the hooks that may be meant for it: nothing is lost, and the filters turn away
 * what cannot match. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hooks/index.h"

static void build(const char *const *symbols, uint32_t count, struct hk_index *ret_index)
{
	static void *room;

	free(room);
	room = calloc(1, hk_index_bytes(count));
	assert_non_null(room);
	hk_index_build(symbols, count, room, ret_index);
}

/* Numbers of SYMBOL's chain whose hash is SYMBOL's, as text. */
static const char *found(const struct hk_index *index, const char *symbol)
{
	static char text[128];
	uint32_t hash = hk_index_hash(symbol);

	text[0] = '\0';
	for (uint32_t at = hk_index_first(index, hash); at; at = index->next[at - 1]) {
		if (index->hashes[at - 1] == hash) {
			size_t length = strlen(text);
			snprintf(text + length, sizeof(text) - length, "%u ", at - 1);
		}
	}
	return text;
}

static void test_the_hash_is_that_of_the_loader(void **state)
{
	(void)state;
	/* Worked out by hand from h = h * 33 + c, beginning with 5381. */
	assert_int_equal(hk_index_hash(""), 0x1505);
	assert_int_equal(hk_index_hash("a"), 177670);
	assert_int_equal(hk_index_hash("ab"), 5863208);
}

static void test_every_symbol_is_found_the_later_first(void **state)
{
	static const char *const symbols[] = {"send", "recv", "s*", "send", "?", "recv_all", ""};
	struct hk_index index;

	(void)state;
	build(symbols, 7, &index);
	assert_string_equal(found(&index, "send"), "3 0 ");
	assert_string_equal(found(&index, "recv"), "1 ");
	assert_string_equal(found(&index, ""), "6 ");
	assert_string_equal(found(&index, "s*"), "");
	assert_string_equal(found(&index, "nothing"), "");
	assert_int_equal(index.glob_count, 2);
	assert_int_equal(index.globs[0], 2);
	assert_int_equal(index.globs[1], 4);
}

static void test_filters_let_through_what_is_there(void **state)
{
	enum { COUNT = 3000 };
	static char names[COUNT][16];
	static const char *symbols[COUNT];
	struct hk_index index;
	uint32_t passed = 0;

	(void)state;
	for (uint32_t i = 0; i < COUNT; i++) {
		snprintf(names[i], sizeof(names[i]), "f%u_%u", i % 7, i);
		symbols[i] = names[i];
	}
	build(symbols, COUNT, &index);
	for (uint32_t i = 0; i < COUNT; i++) {
		char expected[16];
		snprintf(expected, sizeof(expected), "%u ", i);
		assert_string_equal(found(&index, names[i]), expected);
		assert_true(hk_index_begins(&index, names[i]));
		assert_true(hk_index_passes(&index, hk_index_hash(names[i])));
		assert_true(hk_index_passes(&index, hk_index_hash(names[i]) ^ 1));
		snprintf(expected, sizeof(expected), "g%u", i);
		assert_false(hk_index_begins(&index, expected));
		passed += hk_index_passes(&index, hk_index_hash(expected));
	}
	assert_true(passed < COUNT / 10);
}

static void test_none(void **state)
{
	struct hk_index index;

	(void)state;
	build(NULL, 0, &index);
	assert_string_equal(found(&index, "send"), "");
	assert_false(hk_index_begins(&index, "send"));
	assert_false(hk_index_passes(&index, hk_index_hash("send")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_the_hash_is_that_of_the_loader),
	    cmocka_unit_test(test_every_symbol_is_found_the_later_first),
	    cmocka_unit_test(test_filters_let_through_what_is_there),
	    cmocka_unit_test(test_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
