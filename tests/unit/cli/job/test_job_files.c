/* Removing a job takes hooktrace's files and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/job/job_files.h"

static const char *const ours[] = {
    "job.json",	   "statistics",  "statistics.tmp", "report.json",
    "report.html", "summary.txt", "00ff.chunks",
};
#define OURS (sizeof(ours) / sizeof(ours[0]))

static char directory[64];

static const char *in_directory(const char *name)
{
	static char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void put(const char *name, size_t bytes)
{
	int file = open(in_directory(name), O_WRONLY | O_CREAT | O_EXCL, 0600);

	assert_true(file >= 0);
	assert_int_equal(ftruncate(file, (off_t)bytes), 0);
	close(file);
}

static int setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/hk-job-files-XXXXXX");
	if (!mkdtemp(directory)) {
		return -1;
	}
	for (size_t i = 0; i < OURS; i++) {
		put(ours[i], 100);
	}
	return 0;
}

static void test_our_files_go_with_their_directory(void **state)
{
	struct hk_job_files files;

	(void)state;
	assert_int_equal(hk_job_files_count(directory, &files), 0);
	assert_int_equal(files.ours, OURS);
	assert_int_equal(files.foreign, 0);
	assert_true(files.bytes == 100 * OURS);
	assert_int_equal(hk_job_files_remove(directory), 0);
	assert_int_equal(access(directory, F_OK), -1);
	assert_int_equal(hk_job_files_remove(directory), -ENOENT);
}

static void test_nodes_go_too(void **state)
{
	struct hk_job_files files;

	(void)state;
	assert_int_equal(mkdir(in_directory("host"), 0700), 0);
	put("host/node", 10);
	put("host/job.json", 10);
	assert_int_equal(mkdir(in_directory("other"), 0700), 0); /* no node's */
	put("other/job.json", 10);
	assert_int_equal(hk_job_files_count(directory, &files), 0);
	assert_int_equal(files.ours, OURS + 2);
	assert_int_equal(files.foreign, 1);
	assert_int_equal(hk_job_files_remove(directory), -ENOTEMPTY);
	assert_int_equal(access(in_directory("host"), F_OK), -1);
	assert_int_equal(access(in_directory("other/job.json"), F_OK), 0);
	unlink(in_directory("other/job.json"));
	rmdir(in_directory("other"));
	assert_int_equal(hk_job_files_remove(directory), 0);
}

static void test_files_of_others_stay(void **state)
{
	(void)state;
	put("thesis.tex", 5);
	assert_int_equal(symlink("thesis.tex", in_directory("more.chunks")), 0);
	assert_int_equal(mkdir(in_directory("job.json.d"), 0700), 0);
	assert_int_equal(hk_job_files_remove(directory), -ENOTEMPTY);
	assert_int_equal(access(in_directory("thesis.tex"), F_OK), 0);
	assert_int_equal(access(in_directory("job.json.d"), F_OK), 0);
	assert_int_equal(access(in_directory("statistics"), F_OK), -1);
	unlink(in_directory("thesis.tex"));
	unlink(in_directory("more.chunks"));
	rmdir(in_directory("job.json.d"));
	assert_int_equal(rmdir(directory), 0);
}

static void test_links_are_not_followed(void **state)
{
	char link[sizeof(directory) + 8];

	(void)state;
	snprintf(link, sizeof(link), "%s.link", directory);
	assert_int_equal(symlink(directory, link), 0);
	assert_true(hk_job_files_remove(link) < 0);
	assert_int_equal(access(in_directory("job.json"), F_OK), 0);
	unlink(link);
	assert_int_equal(hk_job_files_remove(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_our_files_go_with_their_directory, setup),
	    cmocka_unit_test_setup(test_nodes_go_too, setup),
	    cmocka_unit_test_setup(test_files_of_others_stay, setup),
	    cmocka_unit_test_setup(test_links_are_not_followed, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
