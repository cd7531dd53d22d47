/* `hookcli rm` on job directories made for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "wire/statistics.h"

static char start[PATH_MAX], directory[64];

static void make_job(const char *name)
{
	struct hk_statistics *statistics;
	Hk__Job job = HK__JOB__INIT;

	job.id = (char *)name;
	job.closed = 1;
	assert_int_equal(mkdir(name, 0700), 0);
	assert_int_equal(hk_statistics_open(name, &statistics), 0);
	assert_int_equal(hk_statistics_put_job(statistics, &job), 0);
	hk_statistics_free(statistics);
}

static int run_rm(char *first, char *second)
{
	char *arguments[] = {"hookcli rm", first, second, NULL};

	return hk_command_rm.run(second ? 3 : 2, arguments);
}

static int setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/hk-rm-XXXXXX");
	/* No collector of this machine may answer. */
	if (!getcwd(start, sizeof(start)) || !mkdtemp(directory) ||
	    setenv("HOOK_RUN_DIR", directory, 1)) {
		return -1;
	}
	return chdir(directory);
}

static int teardown(void **state)
{
	(void)state;
	return chdir(start) || rmdir(directory) ? -1 : 0;
}

static void test_job_and_link_go(void **state)
{
	struct stat status;

	(void)state;
	make_job("one");
	make_job("two");
	assert_int_equal(symlink("two", "hook-last"), 0);
	assert_int_equal(run_rm("--force", "one"), HK_EXIT_DONE);
	assert_int_equal(access("one", F_OK), -1);
	assert_int_equal(lstat("hook-last", &status), 0);
	assert_int_equal(run_rm("-y", "two"), HK_EXIT_DONE);
	assert_int_equal(access("two", F_OK), -1);
	assert_int_equal(lstat("hook-last", &status), -1);
}

static void test_nobody_to_ask_is_no_yes(void **state)
{
	int kept = dup(STDIN_FILENO);

	(void)state;
	make_job("one");
	assert_non_null(freopen("/dev/null", "r", stdin));
	assert_int_equal(run_rm("one", NULL), HK_EXIT_USAGE);
	dup2(kept, STDIN_FILENO);
	close(kept);
	assert_int_equal(access("one/statistics", F_OK), 0);
	assert_int_equal(run_rm("--force", "one"), HK_EXIT_DONE);
}

static void test_what_is_no_job_stays(void **state)
{
	(void)state;
	assert_int_equal(mkdir("thesis", 0700), 0);
	assert_int_equal(run_rm("--force", "thesis"), HK_EXIT_ABSENT);
	assert_int_equal(rmdir("thesis"), 0);
	assert_int_equal(run_rm("--force", "nothing"), HK_EXIT_ABSENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_job_and_link_go),
	    cmocka_unit_test(test_nobody_to_ask_is_no_yes),
	    cmocka_unit_test(test_what_is_no_job_stays),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
