/* Finding jobs by directory, and what is said when there are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/job/collectors.h"
#include "cli/job/job_open.h"
#include "cli/run/job_paths.h"
#include "wire/statistics.h"

static char directory[] = "/tmp/hk-job-XXXXXX";

static void make_job(const char *path, const char *id)
{
	struct hk_statistics *statistics;
	Hk__Job job = HK__JOB__INIT;

	job.id = (char *)id;
	job.closed = 1;
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(hk_statistics_open(path, &statistics), 0);
	assert_int_equal(hk_statistics_put_job(statistics, &job), 0);
	hk_statistics_free(statistics);
}

static void test_names_of_a_job(void **state)
{
	struct hk_job job;
	(void)state;
	assert_int_equal(hk_job_open(NULL, &job), HK_EXIT_ABSENT);
	make_job("store/alpha-1", "alpha-1");
	make_job("store/alpha-2", "alpha-2");
	make_job("here", "here");
	hk_job_paths_link(directory, "hook-last", "here");

	assert_int_equal(hk_job_open(NULL, &job), HK_EXIT_DONE);
	assert_string_equal(job.snapshot->job->id, "here");
	assert_false(job.live);
	hk_job_close(&job);
	assert_int_equal(hk_job_open("./here", &job), HK_EXIT_DONE);
	hk_job_close(&job);
	/* In the store by id, by prefix if that is enough. */
	assert_int_equal(hk_job_open("alpha-2", &job), HK_EXIT_DONE);
	assert_string_equal(job.snapshot->job->id, "alpha-2");
	hk_job_close(&job);
	assert_int_equal(hk_job_open("alpha", &job), HK_EXIT_ABSENT);
	assert_int_equal(hk_job_open("beta", &job), HK_EXIT_ABSENT);
	assert_int_equal(hk_job_open("./store", &job), HK_EXIT_ABSENT);
	assert_int_equal(hk_job_open("./nowhere", &job), HK_EXIT_ABSENT);
}

static void test_damaged_job_is_shown_as_far_as_it_goes(void **state)
{
	struct hk_job job;
	(void)state;
	make_job("torn", "torn");
	int fd = open("torn/" HK_STATISTICS_FILE, O_WRONLY | O_APPEND);
	assert_int_equal(write(fd, "half a frame", 12), 12);
	close(fd);
	assert_int_equal(hk_job_open("torn", &job), HK_EXIT_DONE);
	assert_true(job.damaged);
	assert_string_equal(job.snapshot->job->id, "torn");
	hk_job_close(&job);
}

static void test_private_rundir_is_derived(void **state)
{
	char a[PATH_MAX], b[PATH_MAX], c[PATH_MAX];
	(void)state;
	assert_int_equal(hk_collectors_private_rundir("store", "x", 1, a), 0);
	assert_int_equal(hk_collectors_private_rundir("./store/../store", "x", 1, b), 0);
	assert_int_equal(hk_collectors_private_rundir("store", "y", 1, c), 0);
	assert_string_equal(a, b);
	assert_string_not_equal(a, c);
}

static void test_new_directories_get_a_number(void **state)
{
	char path[PATH_MAX], name[320];
	(void)state;
	assert_int_equal(hk_job_paths_make_parents("made/of/parts"), 0);
	assert_int_equal(hk_job_paths_make_job("made/of/parts", "j", path), 0);
	assert_string_equal(path, "made/of/parts/j");
	assert_int_equal(hk_job_paths_make_job("made/of/parts", "j", path), 0);
	assert_string_equal(path, "made/of/parts/j-2");
	hk_job_paths_name("lmp", "48213.0", name, sizeof(name));
	assert_string_equal(name, "hook-lmp-48213.0");
	hk_job_paths_name("lmp", "lmp-ab12", name, sizeof(name));
	assert_string_equal(name, "hook-lmp-ab12");
}

/* A file of that name is the user's and stays. */
static void test_links_replace_only_links(void **state)
{
	struct stat status;
	(void)state;
	FILE *file = fopen("taken", "w");
	fclose(file);
	hk_job_paths_link(directory, "taken", "here");
	assert_int_equal(lstat("taken", &status), 0);
	assert_true(S_ISREG(status.st_mode));
	hk_job_paths_link(directory, "link", "one");
	hk_job_paths_link(directory, "link", "two");
	char target[16] = "";
	assert_int_equal(readlink("link", target, sizeof(target) - 1), 3);
	assert_string_equal(target, "two");
}

/* As a collector that has ended leaves it: what the root has is of no use here any more. */
static void remove_with(const char *link, bool goes)
{
	char path[sizeof(directory) + 16], name[sizeof(path) + 16];
	struct stat status;
	snprintf(path, sizeof(path), "%s/private", directory);
	snprintf(name, sizeof(name), "%s/%s", path, link);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(symlink("/nowhere", name), 0);
	int fd = open(path, O_RDONLY | O_DIRECTORY);
	assert_true(fd >= 0);
	assert_int_equal(hk_job_paths_has_unsent(fd), !goes);
	hk_job_paths_remove_rundir(fd, path);
	close(fd);
	assert_int_equal(lstat(path, &status) < 0, goes);
	if (!goes) {
		assert_int_equal(unlink(name) + rmdir(path), 0);
	}
}

static void test_run_directories_stay_for_what_is_unsent(void **state)
{
	(void)state;
	remove_with("sent.job", true);
	remove_with("unsent.job", false);
}

static int setup(void **state)
{
	char run[64];
	(void)state;
	if (!mkdtemp(directory) || chdir(directory) || mkdir("run", 0700) || mkdir("store", 0700)) {
		return -1;
	}
	snprintf(run, sizeof(run), "%s/run", directory);
	/* No collector of this machine may answer, no setting of this user count. */
	unsetenv("HOOK_COLLECTOR");
	return setenv("HOOK_RUN_DIR", run, 1) || setenv("HOOK_STORE", "store", 1) ||
	       setenv("HOME", directory, 1) || setenv("XDG_CONFIG_HOME", directory, 1);
}

static int teardown(void **state)
{
	char command[96];
	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", directory);
	return chdir("/") || system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_names_of_a_job),
	    cmocka_unit_test(test_damaged_job_is_shown_as_far_as_it_goes),
	    cmocka_unit_test(test_private_rundir_is_derived),
	    cmocka_unit_test(test_run_directories_stay_for_what_is_unsent),
	    cmocka_unit_test(test_new_directories_get_a_number),
	    cmocka_unit_test(test_links_replace_only_links),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
