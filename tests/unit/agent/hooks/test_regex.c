/* Basic regular expressions against libc's. */
#include <errno.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agent/hooks/regex.h"

static uint32_t random_below(uint32_t limit)
{
	static uint64_t state = 42;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % limit;
}

static void agree(const char *pattern, const char *text)
{
	static struct hk_regex ours;
	regex_t theirs;
	int made = hk_regex_make(pattern, &ours);

	if (regcomp(&theirs, pattern, REG_NOSUB) != 0) {
		assert_true(made < 0);
		return;
	}
	if (made == 0) {
		bool match = regexec(&theirs, text, 0, NULL, 0) == 0;
		if (hk_regex_search(&ours, text) != match) {
			fail_msg("'%s' and '%s': libc says %d", pattern, text, match);
		}
	}
	regfree(&theirs);
}

static void test_expressions_people_write(void **state)
{
	static const char *const patterns[] = {
	    "libtorch",
	    ".*libxpuapi\\.so.*",
	    "^/usr/lib/.*\\.so$",
	    "libc10\\|libtorch_cpu",
	    "lib[a-z]*\\.so\\.[0-9]",
	    "[^/]*$",
	    "a\\{2\\}",
	    "\\(ab\\)*c",
	    "^*a",
	    "*a",
	    "a\\{1,3\\}b",
	    "a\\{2,\\}$",
	    "x\\?y\\+",
	    "[[:digit:]]\\{2\\}",
	    "[]a]",
	    "[^]a]",
	    "a$b",
	    "a^b",
	    "",
	    "\\(a\\|b\\)\\{2\\}",
	};
	static const char *const texts[] = {"/usr/lib/libtorch_cpu.so",
					    "/opt/libxpuapi.so.1",
					    "/usr/lib/libc.so.6",
					    "libc10.so",
					    "aab",
					    "ababc",
					    "*a",
					    "xyy",
					    "a12",
					    "]",
					    "a$b",
					    "a^b",
					    "",
					    "abba",
					    "aaaa"};

	(void)state;
	for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++) {
		static struct hk_regex regex;
		assert_int_equal(hk_regex_make(patterns[p], &regex), 0);
		for (size_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
			agree(patterns[p], texts[t]);
		}
	}
}

static void test_random_expressions(void **state)
{
	static const char *const parts[] = {"a",   "b",	  ".",	 "*",	      "[ab]",	 "[^a]",
					    "\\(", "\\)", "\\|", "\\{1,2\\}", "\\{2\\}", "^",
					    "$",   "\\?", "\\+", "ab",	      "a*"};

	(void)state;
	for (unsigned round = 0; round < 60000; round++) {
		char pattern[128] = "", text[10] = "";
		for (unsigned i = random_below(7) + 1; i; i--) {
			strcat(pattern, parts[random_below(sizeof(parts) / sizeof(parts[0]))]);
		}
		/* No two libraries agree on stars upon stars and anchors within. */
		if (strstr(pattern, "**") || strstr(pattern, "*\\") || strstr(pattern, "}\\") ||
		    strstr(pattern, "}*") || strstr(pattern, "?*") || strstr(pattern, "+*") ||
		    strstr(pattern, "?\\") || strstr(pattern, "+\\") || strchr(pattern, '^') ||
		    strchr(pattern, '$') || strstr(pattern, "\\(\\") || strstr(pattern, "\\|\\") ||
		    strstr(pattern, "\\(*") || strstr(pattern, "\\|*") || *pattern == '\\') {
			continue;
		}
		for (unsigned i = random_below(9); i; i--) {
			strcat(text, random_below(2) ? "a" : "b");
		}
		agree(pattern, text);
	}
}

static void test_what_is_no_expression(void **state)
{
	static const char *const bad[] = {"[a", "\\(a",	    "a\\)",	  "a\\{1", "a\\{2,1\\}",
					  "\\", "[[:no:]]", "\\(a\\)\\1", "[b-a]", "a\\{300\\}"};
	static struct hk_regex regex;
	char deep[400] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (hk_regex_make(bad[i], &regex) == 0) {
			fail_msg("'%s' was taken", bad[i]);
		}
	}
	for (unsigned i = 0; i < 100; i++) {
		strcat(deep, "\\(");
	}
	assert_true(hk_regex_make(deep, &regex) < 0);
	assert_int_equal(hk_regex_make("\\(a\\{200\\}\\)\\{200\\}", &regex), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_expressions_people_write),
	    cmocka_unit_test(test_random_expressions),
	    cmocka_unit_test(test_what_is_no_expression),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
