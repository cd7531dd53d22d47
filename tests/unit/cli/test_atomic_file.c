/* A file is in its place when it is whole, and never before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/atomic_file.h"

static char directory[] = "/tmp/hk-partial-XXXXXX";
static char place[64];

static int begin(void **state)
{
	(void)state;
	memcpy(directory + strlen(directory) - 6, "XXXXXX", 6);
	if (!mkdtemp(directory)) {
		return -1;
	}
	snprintf(place, sizeof(place), "%s/trace.json", directory);
	return 0;
}

static int end(void **state)
{
	(void)state;
	unlink(place);
	return rmdir(directory);
}

static size_t files(void)
{
	DIR *list = opendir(directory);
	size_t count = 0;

	for (struct dirent *entry; (entry = readdir(list));) {
		count += entry->d_name[0] != '.';
	}
	closedir(list);
	return count;
}

static void assert_holds(const char *text)
{
	char found[16] = "";
	int fd = open(place, O_RDONLY);

	assert_true(fd >= 0);
	assert_true(read(fd, found, sizeof(found) - 1) >= 0);
	close(fd);
	assert_string_equal(found, text);
}

static void open_and_write(struct hk_atomic_file *file, const char *text)
{
	int fd = hk_atomic_file_open(file, place);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void test_it_replaces_what_was_there_when_it_is_whole(void **state)
{
	struct hk_atomic_file file;
	struct stat status;
	(void)state;

	open_and_write(&file, "one");
	assert_int_equal(access(place, F_OK), -1);
	assert_int_equal(hk_atomic_file_publish(&file), 0);
	assert_holds("one");
	chmod(place, 0640);
	open_and_write(&file, "two");
	assert_holds("one");
	assert_int_equal(hk_atomic_file_publish(&file), 0);
	hk_atomic_file_discard(&file);
	assert_holds("two");
	assert_int_equal(stat(place, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0640);
	assert_int_equal(files(), 1);
}

static void test_what_is_not_whole_leaves_nothing(void **state)
{
	struct hk_atomic_file file;
	(void)state;

	open_and_write(&file, "one");
	hk_atomic_file_discard(&file);
	hk_atomic_file_discard(&file);
	assert_int_equal(files(), 0);
}

/* How many files are there once NUMBER has ended who writes to one that OPEN began. */
static size_t left_by(int number, int (*begin_file)(struct hk_atomic_file *file, const char *path))
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		struct hk_atomic_file file;
		int fd = begin_file(&file, place);
		if (fd >= 0 && write(fd, "one", 3) == 3) {
			raise(number);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == number);
	return files();
}

static void test_a_signal_leaves_nothing(void **state)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
	(void)state;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_int_equal(left_by(numbers[i], hk_atomic_file_open), 0);
		assert_int_equal(left_by(numbers[i], hk_atomic_file_open_named), 0);
	}
}

static void test_sigkill_leaves_nothing_where_files_need_no_name(void **state)
{
	int fd = open(directory, O_TMPFILE | O_RDWR, 0600);
	(void)state;

	if (fd < 0) {
		skip();
	}
	close(fd);
	assert_int_equal(left_by(SIGKILL, hk_atomic_file_open), 0);
}

static void test_a_file_with_a_name_takes_its_place_all_the_same(void **state)
{
	struct hk_atomic_file file;
	(void)state;

	for (int i = 0; i < 2; i++) {
		int fd = hk_atomic_file_open_named(&file, place);
		assert_true(fd >= 0);
		assert_int_equal(access(file.partial, F_OK), 0);
		assert_int_equal(write(fd, "one", 3), 3);
		close(fd);
		assert_int_equal(hk_atomic_file_publish(&file), 0);
		hk_atomic_file_discard(&file);
		assert_holds("one");
		assert_int_equal(files(), 1);
	}
}

static void test_pipes_and_descriptors_are_written_as_they_are(void **state)
{
	struct hk_atomic_file file;
	(void)state;

	assert_int_equal(mkfifo(place, 0600), 0);
	assert_int_equal(hk_atomic_file_open(&file, place), -ENOTSUP);
	assert_int_equal(hk_atomic_file_open(&file, "/dev/null"), -ENOTSUP);
	assert_int_equal(hk_atomic_file_open(&file, "/dev/stdout"), -ENOTSUP);
	assert_int_equal(hk_atomic_file_open(&file, "/proc/self/fd/1"), -ENOTSUP);
	assert_int_equal(hk_atomic_file_open(&file, directory), -EISDIR);
	hk_atomic_file_discard(&file);
	assert_int_equal(files(), 1);
}

static void test_links_to_nothing_and_long_names_are_written_as_they_are(void **state)
{
	struct hk_atomic_file file;
	char name[NAME_MAX + 1] = "";
	(void)state;

	assert_int_equal(symlink("nothing-yet", place), 0);
	assert_int_equal(hk_atomic_file_open(&file, place), -ENOTSUP);
	memset(name, 'n', NAME_MAX);
	assert_int_equal(hk_atomic_file_open(&file, name), -ENOTSUP);
	assert_int_equal(files(), 1);
}

/* Said at once, not when hours of work are to take their place. */
static void test_what_can_never_be_a_file_is_not_begun(void **state)
{
	struct hk_atomic_file file;
	char inside[sizeof(place) + 2];
	(void)state;

	snprintf(inside, sizeof(inside), "%s/", place);
	assert_int_equal(hk_atomic_file_open(&file, inside), -ENOENT);
	assert_int_equal(hk_atomic_file_open(&file, ""), -ENOENT);
	open_and_write(&file, "one");
	assert_int_equal(hk_atomic_file_publish(&file), 0);
	assert_int_equal(hk_atomic_file_open(&file, inside), -ENOTDIR);
	assert_int_equal(files(), 1);
}

static void test_what_must_not_be_written_is_not_replaced(void **state)
{
	struct hk_atomic_file file;
	int status;
	(void)state;

	open_and_write(&file, "one");
	assert_int_equal(hk_atomic_file_publish(&file), 0);
	assert_int_equal(chmod(place, 0444), 0);
	pid_t child = fork();
	if (child == 0) {
		/* Root may write everything. */
		if (geteuid() == 0 && (chmod(directory, 0777) < 0 || seteuid(65534) < 0)) {
			_exit(2);
		}
		_exit(hk_atomic_file_open(&file, place) == -EACCES ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_holds("one");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_it_replaces_what_was_there_when_it_is_whole, begin,
					    end),
	    cmocka_unit_test_setup_teardown(test_what_is_not_whole_leaves_nothing, begin, end),
	    cmocka_unit_test_setup_teardown(test_a_signal_leaves_nothing, begin, end),
	    cmocka_unit_test_setup_teardown(test_sigkill_leaves_nothing_where_files_need_no_name,
					    begin, end),
	    cmocka_unit_test_setup_teardown(test_a_file_with_a_name_takes_its_place_all_the_same,
					    begin, end),
	    cmocka_unit_test_setup_teardown(
		test_links_to_nothing_and_long_names_are_written_as_they_are, begin, end),
	    cmocka_unit_test_setup_teardown(test_what_can_never_be_a_file_is_not_begun, begin, end),
	    cmocka_unit_test_setup_teardown(test_what_must_not_be_written_is_not_replaced, begin,
					    end),
	    cmocka_unit_test_setup_teardown(test_pipes_and_descriptors_are_written_as_they_are,
					    begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
