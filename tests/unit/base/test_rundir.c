/* Which directories are chosen, which refused, and the collector's lock seen from other processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rundir.h"

static char root[64];
static char run[96];

static int make_root(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/hk-test-rundir-XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(run, sizeof(run), "%s/run", root);
	return 0;
}

static int remove_root(void **state)
{
	char command[128];

	(void)state;
	unsetenv("HOOK_RUN_DIR");
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

static void test_candidates_in_order(void **state)
{
	char path[PATH_MAX];
	char expected[PATH_MAX];

	(void)state;
	unsetenv("HOOK_RUN_DIR");
	assert_int_equal(hk_rundir_path(0, path), 0);
	snprintf(expected, sizeof(expected), "/dev/shm/hooktrace-%u", (unsigned)geteuid());
	assert_string_equal(path, expected);
	assert_int_equal(hk_rundir_path(1, path), 0);
	snprintf(expected, sizeof(expected), "/run/user/%u/hooktrace", (unsigned)geteuid());
	assert_string_equal(path, expected);
	assert_int_equal(hk_rundir_path(2, path), -ENOENT);
	assert_int_equal(hk_rundir_path(-1, path), -ENOENT);
	setenv("HOOK_RUN_DIR", "", 1);
	assert_int_equal(hk_rundir_path(1, path), 0);
	setenv("HOOK_RUN_DIR", "/a/b//", 1);
	assert_int_equal(hk_rundir_path(0, path), 0);
	assert_string_equal(path, "/a/b");
	assert_int_equal(hk_rundir_path(1, path), -ENOENT);
}

/* Processes that stand in different directories would not meet there. */
static void test_relative_path_is_refused(void **state)
{
	char path[PATH_MAX];

	(void)state;
	setenv("HOOK_RUN_DIR", "run", 1);
	assert_int_equal(hk_rundir_path(0, path), -EINVAL);
	assert_int_equal(hk_rundir_open_default(1, path), -EINVAL);
	assert_int_not_equal(access("run", F_OK), 0);
	assert_non_null(strstr(hk_rundir_problem(-EINVAL), "absolute"));
	assert_string_equal(hk_rundir_problem(-EACCES), strerror(EACCES));
}

static void test_overlong_path_is_refused(void **state)
{
	char *name = malloc(PATH_MAX + 1);
	char path[PATH_MAX];

	(void)state;
	memset(name, 'd', PATH_MAX);
	*name = '/';
	name[PATH_MAX] = '\0';
	setenv("HOOK_RUN_DIR", name, 1);
	assert_int_equal(hk_rundir_path(0, path), -ENAMETOOLONG);
	name[PATH_MAX - 1] = '\0';
	setenv("HOOK_RUN_DIR", name, 1);
	assert_int_equal(hk_rundir_path(0, path), 0);
	assert_int_equal(strlen(path), PATH_MAX - 1);
	free(name);
}

static void test_directory_is_made_private(void **state)
{
	char path[PATH_MAX];
	struct stat status;

	(void)state;
	setenv("HOOK_RUN_DIR", run, 1);
	assert_int_equal(hk_rundir_open_default(0, path), -ENOENT);
	int fd = hk_rundir_open_default(1, path);
	assert_true(fd >= 0);
	assert_string_equal(path, run);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	close(fd);
	fd = hk_rundir_open_default(1, path);
	assert_true(fd >= 0);
	close(fd);
}

static void test_foreign_directories_are_refused(void **state)
{
	char link[128];

	(void)state;
	assert_int_equal(mkdir(run, 0700), 0);
	static const mode_t modes[] = {0710, 0701, 0750, 0777};
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(run, modes[i]), 0);
		assert_int_equal(hk_rundir_open(run, 1), -EPERM);
	}
	assert_int_equal(chmod(run, 0700), 0);
	snprintf(link, sizeof(link), "%s/link", root);
	assert_int_equal(symlink(run, link), 0);
	int error = hk_rundir_open(link, 1);
	assert_true(error == -ELOOP || error == -ENOTDIR);
	/* A trailing slash must not sneak past the link check. */
	char slashed[136];
	char path[PATH_MAX];
	snprintf(slashed, sizeof(slashed), "%s/", link);
	setenv("HOOK_RUN_DIR", slashed, 1);
	assert_true(hk_rundir_open_default(1, path) < 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(run, 12345, 12345), 0);
		assert_int_equal(hk_rundir_open(run, 1), -EPERM);
	}
}

/* Exit status of QUESTION asked by another process. */
static int ask_child(int (*question)(int dirfd), int dirfd)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		_exit(question(dirfd) & 0x7f);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int try_lock(int dirfd)
{
	int fd = hk_rundir_lock(dirfd);
	return fd == -EWOULDBLOCK ? 2 : fd < 0 ? 1 : 0;
}

static int names_parent(int dirfd)
{
	return hk_rundir_collector_pid(dirfd) == getppid();
}

static void test_lock_is_seen_and_held_once(void **state)
{
	(void)state;
	int dirfd = hk_rundir_open(run, 1);
	assert_true(dirfd >= 0);
	assert_int_equal(hk_rundir_has_collector(dirfd), 0);
	assert_int_equal(hk_rundir_collector_pid(dirfd), 0);
	int lock = hk_rundir_lock(dirfd);
	assert_true(lock >= 0);
	assert_int_equal(hk_rundir_has_collector(dirfd), 1);
	assert_int_equal(ask_child(hk_rundir_has_collector, dirfd), 1);
	assert_int_equal(ask_child(names_parent, dirfd), 1);
	assert_int_equal(ask_child(try_lock, dirfd), 2);
	assert_int_equal(hk_rundir_lock(dirfd), -EWOULDBLOCK);
	/* Asking and failing must not have dropped it. */
	assert_int_equal(ask_child(try_lock, dirfd), 2);
	close(lock);
	assert_int_equal(hk_rundir_has_collector(dirfd), 0);
	assert_int_equal(ask_child(try_lock, dirfd), 0);
	/* The holder died: the lock is free though its file remains. */
	assert_int_equal(hk_rundir_has_collector(dirfd), 0);
	lock = hk_rundir_lock(dirfd);
	assert_true(lock >= 0);
	close(lock);
	close(dirfd);
}

static void test_a_job_is_kept_as_long_as_its_members_file_is_held(void **state)
{
	(void)state;
	int dirfd = hk_rundir_open(run, 1);
	assert_true(dirfd >= 0);
	assert_int_equal(hk_rundir_job_is_kept(dirfd, "job"), 0);
	int fd = openat(dirfd, HK_RUNDIR_MEMBERS "job", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int other = openat(dirfd, HK_RUNDIR_MEMBERS "job", O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0 && other >= 0);
	assert_int_equal(hk_rundir_job_is_kept(dirfd, "job"), 0);
	assert_int_equal(hk_rundir_keep_job(fd), 0);
	assert_int_equal(hk_rundir_keep_job(other), 0);
	/* Members lock it by themselves. */
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	close(fd);
	assert_int_equal(hk_rundir_job_is_kept(dirfd, "job"), 1);
	assert_int_equal(hk_rundir_job_is_kept(dirfd, "jo"), 0);
	close(other);
	assert_int_equal(hk_rundir_job_is_kept(dirfd, "job"), 0);
	/* What others call their jobs. */
	char name[NAME_MAX + 2];
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(hk_rundir_job_is_kept(dirfd, name), 0);
	assert_int_equal(hk_rundir_job_is_kept(dirfd, "../" HK_RUNDIR_LOCK), 0);
	close(dirfd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_candidates_in_order, make_root, remove_root),
	    cmocka_unit_test_setup_teardown(test_relative_path_is_refused, make_root, remove_root),
	    cmocka_unit_test_setup_teardown(test_overlong_path_is_refused, make_root, remove_root),
	    cmocka_unit_test_setup_teardown(test_directory_is_made_private, make_root, remove_root),
	    cmocka_unit_test_setup_teardown(test_foreign_directories_are_refused, make_root,
					    remove_root),
	    cmocka_unit_test_setup_teardown(test_lock_is_seen_and_held_once, make_root,
					    remove_root),
	    cmocka_unit_test_setup_teardown(test_a_job_is_kept_as_long_as_its_members_file_is_held,
					    make_root, remove_root),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
