/* Globs against a matcher written from the definition, over every short glob and text. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hooks/pattern.h"

/* The definition, spelled out: exponential, and obviously right. */
static bool model(const char *glob, const char *text)
{
	if (*glob == '\0') {
		return *text == '\0';
	}
	if (*glob == '*') {
		return model(glob + 1, text) || (*text != '\0' && model(glob, text + 1));
	}
	return *text != '\0' && (*glob == '?' || *glob == *text) && model(glob + 1, text + 1);
}

/* The `number`-th text of exactly `length` letters of `alphabet`; false when there is none. */
static bool spell(const char *alphabet, unsigned length, unsigned number, char *ret_text)
{
	unsigned letters = (unsigned)strlen(alphabet);

	for (unsigned i = 0; i < length; i++) {
		ret_text[i] = alphabet[number % letters];
		number /= letters;
	}
	ret_text[length] = '\0';
	return number == 0;
}

static void test_match_agrees_with_definition(void **state)
{
	char glob[8];
	char text[8];
	unsigned matches = 0;

	(void)state;
	for (unsigned g = 0; g <= 5; g++) {
		for (unsigned i = 0; spell("ab*?", g, i, glob); i++) {
			for (unsigned t = 0; t <= 5; t++) {
				for (unsigned k = 0; spell("ab", t, k, text); k++) {
					bool expected = model(glob, text);
					matches += expected;
					if (hk_pattern_match(glob, text) != expected) {
						fail_msg("'%s' on '%s'", glob, text);
					}
				}
			}
		}
	}
	assert_true(matches > 1000);
}

static void test_match_is_bounded_on_many_stars(void **state)
{
	static char glob[2001];
	static char text[20001];

	(void)state;
	for (unsigned i = 0; i < 2000; i += 2) {
		memcpy(glob + i, "*a", 2);
	}
	memset(text, 'a', 20000);
	assert_true(hk_pattern_match(glob, text));
	text[19999] = 'b';
	assert_false(hk_pattern_match(glob, text));
}

static void test_library_by_path_base_name_or_version(void **state)
{
	static const struct {
		const char *glob;
		const char *path;
		bool expected;
	} cases[] = {
	    {"*", "/usr/lib/libmpi.so.40", true},
	    {"*", "", true},
	    {"libmpi.so.40", "/usr/lib/libmpi.so.40", true},
	    {"libmpi.so", "/usr/lib/libmpi.so.40.30.4", true},
	    {"libmpi", "/usr/lib/libmpi.so.40", true},
	    {"libmp", "/usr/lib/libmpi.so.40", false},
	    {"libmpi.s", "/usr/lib/libmpi.so.40", false},
	    {"libmpi.so.40.1", "/usr/lib/libmpi.so.40", false},
	    {"libmpi*", "/usr/lib/libmpi_mpifh.so.40", true},
	    {"libmpi.so*", "/usr/lib/libmpi_mpifh.so.40", false},
	    {"/usr/lib/*", "/usr/lib/libmpi.so", true},
	    {"/opt/*", "/usr/lib/libmpi.so", false},
	    {"/usr/lib/libmpi.so", "/usr/lib/libmpi.so.40", false},
	    {"lib?.so", "/usr/lib/libm.so.6", false},
	    {"", "/usr/lib/libm.so.6", false},
	    {"", "/usr/lib/.hidden", false},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (hk_pattern_match_library(cases[i].glob, cases[i].path) != cases[i].expected) {
			fail_msg("'%s' on '%s'", cases[i].glob, cases[i].path);
		}
	}
}

static void test_split_at_last_colon(void **state)
{
	static const char *const bad[] = {"", ":", "a", "a:", ":a", "a:b:"};
	size_t colon = 99;

	(void)state;
	assert_int_equal(hk_pattern_split("lib:f", 5, &colon), 0);
	assert_int_equal(colon, 3);
	assert_int_equal(hk_pattern_split("a:b:c", 5, &colon), 0);
	assert_int_equal(colon, 3);
	assert_int_equal(hk_pattern_split("a:b:c", 3, &colon), 0);
	assert_int_equal(colon, 1);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(hk_pattern_split(bad[i], strlen(bad[i]), &colon), -EINVAL);
	}
	assert_int_equal(colon, 1);
}

static void test_function_by_definer_and_name(void **state)
{
	static const struct {
		const char *pattern, *provider, *function;
		bool expected;
	} cases[] = {
	    {"cos", "/lib/libm.so.6", "cos", true},
	    {"co?", "", "cos", true},
	    {"cos", "/lib/libm.so.6", "cosf", false},
	    {"libm.so:cos*", "/lib/libm.so.6", "cosf", true},
	    {"libm.so:cos", "/lib/libc.so.6", "cos", false},
	    {"libm.so:cos", "", "cos", false},
	    {"*:cos", "", "cos", true},
	    {":cos", "/lib/libm.so.6", "cos", false},
	    {"", "/lib/libm.so.6", "cos", false},
	};
	char longest[HK_PATTERN_LIBRARY_MAX + 8];

	(void)state;
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (hk_pattern_match_function(cases[i].pattern, cases[i].provider,
					      cases[i].function) != cases[i].expected) {
			fail_msg("'%s' on %s of '%s'", cases[i].pattern, cases[i].function,
				 cases[i].provider);
		}
	}
	memset(longest, '*', sizeof(longest));
	memcpy(longest + HK_PATTERN_LIBRARY_MAX, ":cos", 5);
	assert_true(hk_pattern_match_function(longest, "/lib/libm.so.6", "cos"));
	memcpy(longest + HK_PATTERN_LIBRARY_MAX, "*:cos", 6);
	assert_false(hk_pattern_match_function(longest, "/lib/libm.so.6", "cos"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_match_agrees_with_definition),
	    cmocka_unit_test(test_match_is_bounded_on_many_stars),
	    cmocka_unit_test(test_library_by_path_base_name_or_version),
	    cmocka_unit_test(test_split_at_last_colon),
	    cmocka_unit_test(test_function_by_definer_and_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
