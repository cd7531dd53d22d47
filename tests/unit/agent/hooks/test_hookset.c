/* Which hook and which level a symbol gets, against the files in hooks/ as the shipped ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/hooks/hookset.h"

static struct hk_hookset set;

static int load(const char *hooks, const char *level, const char *from)
{
	static char texts[3][512];
	char *environment[4];
	int count = 0;
	const char *names[3] = {"HOOK_HOOKS", "HOOK_LEVEL", "HOOK_FROM"};
	const char *values[3] = {hooks, level, from};
	for (int i = 0; i < 3; i++) {
		if (values[i]) {
			snprintf(texts[i], sizeof(texts[i]), "%s=%s", names[i], values[i]);
			environment[count++] = texts[i];
		}
	}
	environment[count] = NULL;
	return hk_hookset_load(environment, &set);
}

/* Level of SYMBOL, -1 if it is not hooked; *ret_pinned may be NULL. */
static int level_of(const char *symbol, const char *provider, const char *library, int *ret_pinned)
{
	uint8_t level = 0;
	uint8_t pinned = 0;
	uint32_t stack_rate;
	const struct hk_hook *hook =
	    hk_hookset_find(&set, symbol, provider, library, &level, &pinned, &stack_rate);
	if (ret_pinned) {
		*ret_pinned = pinned;
	}
	if (hook) {
		assert_true(hk_hookset_wants(&set, symbol));
	}
	return hook ? level : -1;
}

static void test_auto_leaves_out_what_its_file_says(void **state)
{
	(void)state;
	const char *const spellings[] = {NULL, "", "auto", " ,auto,"};
	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++) {
		int pinned = 1;
		assert_int_equal(load(spellings[i], NULL, NULL), 0);
		assert_string_equal(set.text, "auto");
		assert_int_equal(set.hook_count, 5);
		assert_int_equal(set.default_level, HK_LEVEL_RECORD);
		assert_int_equal(level_of("apple", "/l/libx.so", "/bin/a", &pinned),
				 HK_LEVEL_RECORD);
		assert_int_equal(pinned, 0);
		assert_int_equal(level_of("pear", "", "/bin/a", NULL), HK_LEVEL_COUNT);
		assert_int_equal(level_of("plum", "", "/bin/a", NULL), -1);
		assert_false(hk_hookset_wants(&set, "plum"));
		assert_int_equal(level_of("hazel", "/l/libnut.so.1", "/bin/a", NULL),
				 HK_LEVEL_TIME);
		assert_int_equal(level_of("hazel", "/l/libother.so", "/bin/a", NULL), -1);
		assert_int_equal(level_of("hazel", "", "/bin/a", NULL), -1);
		assert_int_equal(level_of("walnut", "", "/bin/a", NULL), HK_LEVEL_RECORD);
		assert_int_equal(level_of("appl", "", "/bin/a", NULL), -1);
		assert_int_equal(level_of("apples", "", "/bin/a", NULL), -1);
		assert_int_equal(level_of("", "", "/bin/a", NULL), -1);
		assert_string_equal(set.problem, "");
	}
}

static void test_a_name_brings_the_whole_file_and_later_lines_win(void **state)
{
	(void)state;
	assert_int_equal(load("nuts,fruit", NULL, NULL), 0);
	assert_int_equal(level_of("plum", "", "/bin/a", NULL), HK_LEVEL_RECORD);
	assert_int_equal(level_of("hazel", "/l/libnut.so", "/bin/a", NULL), HK_LEVEL_RECORD);

	uint8_t level;
	uint8_t pinned;
	uint32_t stack_rate;
	assert_int_equal(load("nuts,libnut.so:walnut", NULL, NULL), 0);
	const struct hk_hook *hook =
	    hk_hookset_find(&set, "walnut", "/l/libnut.so", "/bin/a", &level, &pinned, &stack_rate);
	assert_non_null(hook);
	assert_string_equal(hook->domain, "user");
	assert_true(hook->flags & HK_HOOK_SHORT);
	assert_int_equal(hook->stack_words, HK_HOOK_STACK_UNKNOWN);
	hook =
	    hk_hookset_find(&set, "walnut", "/l/libz.so", "/bin/a", &level, &pinned, &stack_rate);
	assert_non_null(hook);
	assert_string_equal(hook->domain, "nut");
	assert_ptr_equal(hook, hk_hookset_find(&set, "walnut", "/l/libz.so", "/bin/b", &level,
					       &pinned, &stack_rate));
}

/* The limit of APPLE's stacks under the settings. */
static uint32_t rate_of(const char *hooks, const char *level)
{
	uint8_t unused;
	uint32_t rate = 0;
	assert_int_equal(load(hooks, level, NULL), 0);
	assert_string_equal(set.problem, "");
	assert_non_null(
	    hk_hookset_find(&set, "apple", "/l/libx.so", "/bin/a", &unused, &unused, &rate));
	return rate;
}

static void test_a_limit_comes_with_its_level(void **state)
{
	(void)state;
	assert_int_equal(rate_of("fruit", "record+stack:7/s"), 7);
	assert_int_equal(rate_of("fruit", "record+stack"), 0);
	assert_int_equal(rate_of("fruit", "apple=record+stack:8/s"), 8);
	assert_int_equal(rate_of("fruit", "record+stack:7/s,apple=record+stack"), 0);
	assert_int_equal(rate_of("fruit", "plum=record+stack:8/s"), 0);
	assert_int_equal(rate_of("fruit,*:apple level=record+stack:9/s", NULL), 9);
	assert_int_equal(rate_of("fruit,*:apple level=record+stack:9/s", "apple=record+stack:5/s"),
			 5);
}

static void test_a_description_is_kept_under_a_pattern(void **state)
{
	(void)state;
	static const char *const orders[] = {"fruit,*:p* level=time", "*:p* level=time,fruit"};
	for (size_t i = 0; i < 2; i++) {
		uint8_t level;
		uint8_t pinned;
		uint32_t stack_rate;
		assert_int_equal(load(orders[i], NULL, NULL), 0);
		const struct hk_hook *hook = hk_hookset_find(&set, "pear", "/l/libx.so", "/bin/a",
							     &level, &pinned, &stack_rate);
		assert_non_null(hook);
		assert_string_equal(hook->domain, "fruit");
		assert_int_equal(level, HK_LEVEL_TIME);
		assert_int_equal(level_of("peach", "", "/bin/a", NULL), HK_LEVEL_TIME);
		assert_int_equal(level_of("apple", "", "/bin/a", NULL), HK_LEVEL_RECORD);
	}
}

static void test_a_line_for_some_callers_leaves_others_to_earlier_lines(void **state)
{
	(void)state;
	assert_int_equal(
	    load("*:a,*:a from=libleft.so level=count,*:b from=libleft.so", NULL, NULL), 0);
	assert_int_equal(level_of("a", "", "/l/libleft.so.1", NULL), HK_LEVEL_COUNT);
	assert_int_equal(level_of("a", "", "/l/libright.so", NULL), HK_LEVEL_RECORD);
	assert_int_equal(level_of("b", "", "/l/libleft.so.1", NULL), HK_LEVEL_RECORD);
	assert_int_equal(level_of("b", "", "/l/libright.so", NULL), -1);
	assert_true(hk_hookset_wants(&set, "b"));
}

static void test_changed_calls_are_watched_too(void **state)
{
	(void)state;
	assert_int_equal(
	    load("fruit,skip *:apple,return 1 libx.so:f,return 2 *:f from=libleft.so", NULL, NULL),
	    0);
	const struct hk_hook *change = hk_hookset_change(&set, "apple", "/l/liba.so", "/bin/a");
	assert_non_null(change);
	assert_int_equal(change->action, HK_ACTION_SKIP);
	assert_int_equal(level_of("apple", "/l/liba.so", "/bin/a", NULL), HK_LEVEL_RECORD);
	assert_int_equal(level_of("f", "/l/libx.so", "/bin/a", NULL), HK_LEVEL_RECORD);
	assert_int_equal(hk_hookset_change(&set, "f", "/l/libx.so", "/bin/a")->returns, 1);
	assert_int_equal(hk_hookset_change(&set, "f", "/l/libx.so", "/l/libleft.so")->returns, 2);
	assert_null(hk_hookset_change(&set, "f", "/l/liby.so", "/bin/a"));
	assert_null(hk_hookset_change(&set, "pear", "/l/libx.so", "/bin/a"));
	assert_int_equal(load("skip *:poison", NULL, NULL), 0);
	assert_null(hk_hookset_change(&set, "poison", "/l/libx.so", "/bin/a"));
}

static void test_denied_symbols_stay_denied_whoever_asks(void **state)
{
	(void)state;
	assert_int_equal(load("*:*", NULL, NULL), 0);
	assert_int_equal(level_of("anything", "", "/bin/a", NULL), HK_LEVEL_RECORD);
	assert_int_equal(level_of("poison", "", "/bin/a", NULL), -1);
	assert_int_equal(level_of("toxic_waste", "", "/bin/a", NULL), -1);
	assert_true(hk_hookset_wants(&set, "poison"));
	assert_true(hk_hookset_denies(&set, "poison", ""));
	assert_true(hk_hookset_denies(&set, "toxic_", "/l/libx.so"));
	assert_false(hk_hookset_denies(&set, "anything", ""));
}

static void test_a_denied_library_denies_its_own_functions_only(void **state)
{
	(void)state;
	assert_int_equal(load("*:*", NULL, NULL), 0);
	assert_int_equal(level_of("dark_room", "/l/libcellar.so.2", "/bin/a", NULL), -1);
	assert_int_equal(level_of("dark_room", "/l/libattic.so", "/bin/a", NULL), HK_LEVEL_RECORD);
	assert_true(hk_hookset_denies(&set, "dark_room", "/l/libcellar.so.2"));
	assert_false(hk_hookset_denies(&set, "dark_room", "/l/libattic.so"));
}

static void test_levels_cap_and_pins_override(void **state)
{
	(void)state;
	int pinned = 0;
	assert_int_equal(load("auto", "count", NULL), 0);
	assert_int_equal(level_of("apple", "", "/bin/a", &pinned), HK_LEVEL_COUNT);
	assert_int_equal(pinned, 1);
	assert_int_equal(level_of("hazel", "libnut.so", "/bin/a", NULL), HK_LEVEL_COUNT);

	assert_int_equal(load("auto", "record+args,*:wal*=time,libnut.so:hazel=off", NULL), 0);
	assert_int_equal(level_of("apple", "", "/bin/a", NULL), HK_LEVEL_ARGS);
	assert_int_equal(level_of("pear", "", "/bin/a", NULL), HK_LEVEL_COUNT);
	assert_int_equal(level_of("walnut", "", "/bin/a", NULL), HK_LEVEL_TIME);
	assert_int_equal(level_of("hazel", "/l/libnut.so", "/bin/a", NULL), HK_LEVEL_OFF);

	assert_int_equal(load("auto", "apple=count", NULL), 0);
	assert_int_equal(level_of("apple", "", "/bin/a", &pinned), HK_LEVEL_COUNT);
	assert_int_equal(pinned, 1);
	assert_int_equal(level_of("walnut", "", "/bin/a", &pinned), HK_LEVEL_RECORD);
	assert_int_equal(pinned, 0);

	assert_int_equal(load("auto", "loud", NULL), 0);
	assert_non_null(strstr(set.problem, "HOOK_LEVEL"));
	assert_int_equal(set.default_level, HK_LEVEL_RECORD);
}

/* As DT_GNU_HASH has it. */
static uint32_t gnu_hash(const char *symbol)
{
	uint32_t hash = 5381;
	while (*symbol) {
		hash = (hash << 5) + hash + (unsigned char)*symbol++;
	}
	return hash;
}

static void test_hashes_stand_for_names(void **state)
{
	(void)state;
	assert_int_equal(load("fruit", NULL, NULL), 0);
	assert_true(hk_hookset_wants_hash(&set, gnu_hash("apple"), "/x/a"));
	assert_true(hk_hookset_wants_hash(&set, gnu_hash("plum") ^ 1, "/x/a"));
	assert_false(hk_hookset_wants_hash(&set, gnu_hash("walnut"), "/x/a"));
	assert_int_equal(load("nuts", NULL, NULL), 0);
	assert_true(hk_hookset_wants_hash(&set, gnu_hash("walnut"), "/x/a"));
	assert_true(hk_hookset_wants_hash(&set, 0, "/x/a"));
	/* A pattern of one library does not concern the functions of others. */
	assert_int_equal(load("grain", NULL, NULL), 0);
	assert_false(hk_hookset_wants_hash(&set, gnu_hash("rye"), "/x/a"));
	assert_true(hk_hookset_wants_hash(&set, gnu_hash("rye"), "/x/libgrain.so.2"));
	assert_true(hk_hookset_wants(&set, "rye_bread"));
	assert_false(hk_hookset_wants(&set, "rice"));
	assert_false(hk_hookset_wants(&set, "zz"));
}

static void test_from_limits_the_callers(void **state)
{
	(void)state;
	assert_int_equal(load("fruit", NULL, "libmine.so"), 0);
	assert_int_equal(level_of("apple", "", "/x/libmine.so.3", NULL), HK_LEVEL_RECORD);
	assert_int_equal(level_of("apple", "", "/x/libyours.so", NULL), -1);
}

static void test_unknown_names_are_told_and_the_rest_holds(void **state)
{
	(void)state;
	assert_int_equal(load("vegetables,fruit", NULL, NULL), -ENOENT);
	assert_non_null(strstr(set.problem, "vegetables"));
	assert_int_equal(level_of("apple", "", "/bin/a", NULL), HK_LEVEL_RECORD);
	assert_int_equal(load("/nowhere/x.hooks", NULL, NULL), -ENOENT);
	assert_non_null(strstr(set.problem, "/nowhere/x.hooks"));
	assert_int_equal(set.hook_count, 0);
}

static void test_a_users_file_is_read_and_bad_lines_are_counted(void **state)
{
	(void)state;
	char path[] = "/tmp/hookset-XXXXXX.hooks";
	int fd = mkstemps(path, 6);
	assert_true(fd >= 0);
	static const char text[] = "domain mine\n"
				   "int my_call(int a, ulong b) level=time\n"
				   "quux my_bad(int a)\n"
				   "deny apple\n";
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	char hooks[64];
	snprintf(hooks, sizeof(hooks), "fruit,%s", path);
	assert_int_equal(load(hooks, NULL, NULL), 0);
	unlink(path);
	assert_int_equal(set.bad_lines, 1);
	assert_non_null(strstr(set.problem, ":3: "));
	assert_int_equal(level_of("my_call", "", "/bin/a", NULL), HK_LEVEL_TIME);
	assert_int_equal(level_of("my_bad", "", "/bin/a", NULL), -1);
	assert_int_equal(level_of("apple", "", "/bin/a", NULL), -1);
	assert_int_equal(level_of("pear", "", "/bin/a", NULL), HK_LEVEL_COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_auto_leaves_out_what_its_file_says),
	    cmocka_unit_test(test_a_name_brings_the_whole_file_and_later_lines_win),
	    cmocka_unit_test(test_a_limit_comes_with_its_level),
	    cmocka_unit_test(test_a_description_is_kept_under_a_pattern),
	    cmocka_unit_test(test_a_line_for_some_callers_leaves_others_to_earlier_lines),
	    cmocka_unit_test(test_changed_calls_are_watched_too),
	    cmocka_unit_test(test_denied_symbols_stay_denied_whoever_asks),
	    cmocka_unit_test(test_a_denied_library_denies_its_own_functions_only),
	    cmocka_unit_test(test_levels_cap_and_pins_override),
	    cmocka_unit_test(test_hashes_stand_for_names),
	    cmocka_unit_test(test_from_limits_the_callers),
	    cmocka_unit_test(test_unknown_names_are_told_and_the_rest_holds),
	    cmocka_unit_test(test_a_users_file_is_read_and_bad_lines_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
