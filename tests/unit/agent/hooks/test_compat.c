/* The variables of HOOK_COMPAT=1; basic regular expressions against libc's; live and peak bytes
 * against a plain list. */
#include <errno.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agent/compat/heap.h"
#include "agent/hooks/compat_settings.h"
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
		/* Stars upon stars and anchors within are told apart by no two libraries alike. */
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

static void read_settings(struct hk_compat_settings *settings, const char *const *variables)
{
	assert_int_equal(hk_compat_read((char *const *)variables, settings), 0);
}

static void test_variables_act_under_compat_only(void **state)
{
	static const char *const alone[] = {
	    "LOG_LEVEL=INFO",	   "LOG_SYNC_MODE=1", "HOOK_ENABLE_TRACE=malloc=2",
	    "TARGET_LIB_FILTER=x", "HOOK_COMPAT=0",   NULL};
	static struct hk_compat_settings settings;

	(void)state;
	read_settings(&settings, alone);
	assert_false(settings.on);
	assert_false(settings.sync);
	assert_false(settings.filtered);
	assert_int_equal(settings.trace_count, 0);
}

static void test_levels(void **state)
{
	static const struct {
		const char *value;
		uint8_t profile, trace, memory;
	} cases[] = {
	    {"LOG_LEVEL=INFO", HK_COMPAT_INFO, HK_COMPAT_INFO, HK_COMPAT_INFO},
	    {"LOG_LEVEL=PROFILE=INFO", HK_COMPAT_INFO, HK_COMPAT_WARN, HK_COMPAT_WARN},
	    {"LOG_LEVEL=ERROR,TRACE=INFO", HK_COMPAT_ERROR, HK_COMPAT_INFO, HK_COMPAT_ERROR},
	    {"LOG_LEVEL=LOUD", HK_COMPAT_WARN, HK_COMPAT_WARN, HK_COMPAT_WARN},
	    {"LOG_LEVEL=FATAL, MEMORY=INFO ,NONE=INFO", HK_COMPAT_FATAL, HK_COMPAT_FATAL,
	     HK_COMPAT_INFO},
	    {"X=", HK_COMPAT_WARN, HK_COMPAT_WARN, HK_COMPAT_WARN},
	};
	static struct hk_compat_settings settings;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *variables[] = {"HOOK_COMPAT=1", cases[i].value, NULL};
		read_settings(&settings, variables);
		assert_true(settings.on);
		assert_int_equal(settings.level[HK_COMPAT_PROFILE], cases[i].profile);
		assert_int_equal(settings.level[HK_COMPAT_TRACE], cases[i].trace);
		assert_int_equal(settings.level[HK_COMPAT_MEMORY], cases[i].memory);
	}
}

static void test_traces_and_filter(void **state)
{
	static const char *const variables[] = {
	    "HOOK_COMPAT=1", "HOOK_ENABLE_TRACE=xpu_malloc=0b10,a=0x3, b=1,bad,c=2z,=2,a=2",
	    "TARGET_LIB_FILTER=[", NULL};
	static struct hk_compat_settings settings;

	(void)state;
	assert_int_equal(hk_compat_read((char *const *)variables, &settings), -EINVAL);
	assert_false(settings.filtered);
	assert_int_equal(hk_compat_trace(&settings, "xpu_malloc"), 2);
	assert_int_equal(hk_compat_trace(&settings, "a"), 2);
	assert_int_equal(hk_compat_trace(&settings, "b"), 1);
	assert_int_equal(hk_compat_trace(&settings, "c"), 0);
	assert_int_equal(hk_compat_trace(&settings, "bad"), 0);
}

#define POINTERS 4000u

static void test_live_and_peak_bytes(void **state)
{
	static const char *const libraries[] = {"/a.so", "/b.so"};
	static uint64_t sizes[POINTERS];
	static uint32_t owners[POINTERS];
	uint64_t live[2] = {0}, peak[2] = {0};

	(void)state;
	assert_null(hk_compat_heap_remove(4096));
	for (unsigned round = 0; round < 200000; round++) {
		uint32_t i = random_below(POINTERS), owner = random_below(2);
		uint64_t pointer = 0x7f0000000000u + (uint64_t)i * 16;
		const struct hk_compat_account *account;
		if (sizes[i]) {
			account = hk_compat_heap_remove(pointer);
			live[owners[i]] -= sizes[i];
			sizes[i] = 0;
			owner = owners[i];
		} else {
			sizes[i] = random_below(1 << 20) + 1;
			owners[i] = owner;
			account = hk_compat_heap_add(pointer, sizes[i], libraries[owner], 0, 1);
			live[owner] += sizes[i];
			peak[owner] = live[owner] > peak[owner] ? live[owner] : peak[owner];
		}
		assert_non_null(account);
		assert_string_equal(account->library, libraries[owner]);
		assert_int_equal(account->live, live[owner]);
		assert_int_equal(account->peak, peak[owner]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_expressions_people_write),
	    cmocka_unit_test(test_random_expressions),
	    cmocka_unit_test(test_what_is_no_expression),
	    cmocka_unit_test(test_variables_act_under_compat_only),
	    cmocka_unit_test(test_levels),
	    cmocka_unit_test(test_traces_and_filter),
	    cmocka_unit_test(test_live_and_peak_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
