/* Control groups of both versions: the kernel's texts, limits of groups around them, kills. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/memory/group.h"

static char root[] = "/tmp/hk-group-XXXXXX";

static void write_file(const char *name, const char *text)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static struct hk_memory_group *group(const char *directory)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", root, directory);
	struct hk_memory_group *made = hk_memory_group_new(path, root);
	assert_non_null(made);
	return made;
}

static void test_path_is_that_of_the_memory_controller(void **state)
{
	const struct {
		const char *text, *path;
		int r;
	} cases[] = {
	    {"0::/user.slice/a b:c\n", "/r/user.slice/a b:c", 0},
	    {"0::/\n", "/r", 0},
	    {"0::/", "/r", 0},
	    {"3:cpuset:/x\n4:memory:/jobs/7\n0::/unified\n", "/r/memory/jobs/7", 0},
	    {"0::/unified\n5:cpu,memory:/y\n", "/r/memory/y", 0},
	    {"4:memory:/\n", "/r/memory", 0},
	    {"4:memoryless,xmemory:/\n", "", -ENOENT},
	    {"", "", -ENOENT},
	    {"0:", "", -EBADMSG},
	    {"no colons\n4:memory:/\n", "", -EBADMSG},
	    {"0::/a/path/that/is/longer/than/there/is/room/for\n", "", -ENAMETOOLONG},
	};
	char path[32];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(hk_memory_group_path(cases[i].text, "/r", path, sizeof(path)),
				 cases[i].r);
		if (cases[i].r == 0) {
			assert_string_equal(path, cases[i].path);
		}
	}
}

static void expect_limit(const char *directory, uint64_t limit)
{
	struct hk_memory_group *made = group(directory);
	assert_int_equal(hk_memory_group_limit(made), limit);
	hk_memory_group_free(made);
}

static void test_the_least_limit_counts(void **state)
{
	(void)state;
	write_file("slice/memory.max", "1048576\n");
	write_file("slice/job/memory.max", "max\n");
	write_file("slice/small/memory.max", "4096\n");
	write_file("free/memory.max", "max\n");
	write_file("memory/old/memory.limit_in_bytes", "9223372036854771712\n");
	write_file("memory/limited/memory.limit_in_bytes", "2097152\n");
	write_file("broken/memory.max", "\n");
	expect_limit("slice/job", 1048576);
	expect_limit("slice/small", 4096);
	expect_limit("free", 0);
	expect_limit("memory/old", 0);
	expect_limit("memory/limited", 2097152);
	expect_limit("broken", 0);
	expect_limit("gone", 0);
}

static void check_kills(const char *file, const char *directory, const char *before,
			const char *after)
{
	write_file(file, before);
	struct hk_memory_group *a = group(directory), *b = group(directory);
	assert_true(hk_memory_group_same(a, b));
	assert_false(hk_memory_group_killed(a));
	write_file(file, after); /* two more */
	assert_true(hk_memory_group_killed(a));
	hk_memory_group_mark_reported(a);
	assert_true(hk_memory_group_killed(a));
	hk_memory_group_mark_reported(a);
	assert_false(hk_memory_group_killed(a));
	assert_true(hk_memory_group_killed(b));
	hk_memory_group_free(a);
	hk_memory_group_free(b);
}

static void test_kills_are_reported_one_by_one(void **state)
{
	(void)state;
	check_kills("two/memory.events", "two", "low 7\noom 9\noom_kill 3\noom_group_kill 0\n",
		    "low 7\noom 9\noom_kill 5\noom_group_kill 0\n");
	check_kills("memory/one/memory.oom_control", "memory/one",
		    "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
		    "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
}

#define SECOND_NS UINT64_C(1000000000)

/* A process that is alive long after a kill was not the one that was killed. */
static void test_old_kills_are_those_of_others(void **state)
{
	(void)state;
	write_file("old/memory.events", "oom_kill 3\n");
	struct hk_memory_group *made = group("old");
	hk_memory_group_alive(made, 5 * SECOND_NS);
	write_file("old/memory.events", "oom_kill 4\n");
	hk_memory_group_alive(made, 6 * SECOND_NS);
	hk_memory_group_alive(made, 15 * SECOND_NS);
	assert_true(hk_memory_group_killed(made));
	hk_memory_group_alive(made, 16 * SECOND_NS);
	assert_false(hk_memory_group_killed(made));
	write_file("old/memory.events", "oom_kill 5\n");
	assert_true(hk_memory_group_killed(made));
	hk_memory_group_free(made);
}

/* A group that is made behind a kill must not take that kill for its own. */
static void test_no_more_is_reported_than_was_killed(void **state)
{
	(void)state;
	write_file("later/memory.events", "oom_kill 1\n");
	struct hk_memory_group *made = group("later");
	hk_memory_group_mark_reported(made);
	write_file("later/memory.events", "oom_kill 2\n");
	assert_true(hk_memory_group_killed(made));
	hk_memory_group_free(made);
}

static void test_an_unknown_group_was_never_killed(void **state)
{
	(void)state;
	struct hk_memory_group *made = group("nowhere");
	assert_false(hk_memory_group_killed(made));
	write_file("nowhere/memory.events", "oom_kill 5\n");
	assert_false(hk_memory_group_killed(made));
	hk_memory_group_mark_reported(made);
	assert_false(hk_memory_group_killed(made));
	hk_memory_group_free(made);
	assert_false(hk_memory_group_same(NULL, NULL));
}

static int make_root(void **state)
{
	(void)state;
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[PATH_MAX];
	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_path_is_that_of_the_memory_controller),
	    cmocka_unit_test(test_the_least_limit_counts),
	    cmocka_unit_test(test_kills_are_reported_one_by_one),
	    cmocka_unit_test(test_old_kills_are_those_of_others),
	    cmocka_unit_test(test_no_more_is_reported_than_was_killed),
	    cmocka_unit_test(test_an_unknown_group_was_never_killed),
	};
	return cmocka_run_group_tests(tests, make_root, remove_root);
}
