/* A node's directory in a job that several nodes share, at each step at which its collector dies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/job/nodedir.h"

struct place {
	char store[64], run[64];
	int dirfd; /* of the run directory */
	struct hk_nodedir_mark mark;
};

static int place_setup(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	snprintf(place->store, sizeof(place->store), "/tmp/nodedir-store-XXXXXX");
	snprintf(place->run, sizeof(place->run), "/tmp/nodedir-run-XXXXXX");
	assert_non_null(mkdtemp(place->store));
	assert_non_null(mkdtemp(place->run));
	place->dirfd = open(place->run, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	hk_nodedir_mark(&place->mark, "job", "alpha", place->run, place->dirfd);
	*state = place;
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static int place_teardown(void **state)
{
	struct place *place = *state;
	close(place->dirfd);
	nftw(place->store, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	rmdir(place->run);
	free(place);
	return 0;
}

static bool is_open(const void *context, const char *path)
{
	return context && strcmp(context, path) == 0;
}

/* Creates the node's directory as a collector does that has a job open in OPEN_PATH or none. */
static void create(const struct place *place, const char *open_path, const char *name,
		   const char *below)
{
	const struct hk_nodedir_open open = {is_open, open_path};
	char got[HK_JOBDIR_ID_BYTES] = "job", path[PATH_MAX], wanted[PATH_MAX];
	assert_int_equal(hk_nodedir_create(place->store, got, &place->mark, &open, path), 0);
	snprintf(wanted, sizeof(wanted), "%s/%s", place->store, below);
	assert_string_equal(path, wanted);
	assert_string_equal(got, name);
	assert_true(hk_nodedir_is(path));
}

static unsigned entries(const struct place *place, const char *below)
{
	char path[PATH_MAX];
	unsigned count = 0;
	snprintf(path, sizeof(path), "%s/%s", place->store, below);
	DIR *directory = opendir(path);
	assert_non_null(directory);
	for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
		count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	}
	closedir(directory);
	return count;
}

static void killed_before_the_job_was_noted_its_directory_is_taken_over(void **state)
{
	const struct place *place = *state;
	create(place, NULL, "job", "job/alpha");
	create(place, NULL, "job", "job/alpha");
	assert_int_equal(entries(place, ""), 1);
	assert_int_equal(entries(place, "job"), 1);
}

static void an_open_job_of_the_same_id_keeps_its_directory(void **state)
{
	const struct place *place = *state;
	char path[PATH_MAX];
	create(place, NULL, "job", "job/alpha");
	snprintf(path, sizeof(path), "%s/job/alpha/job.json", place->store);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	*strrchr(path, '/') = '\0';
	create(place, path, "job-2", "job-2/alpha");
}

static void killed_while_the_mark_was_written_nothing_is_left_over(void **state)
{
	const struct place *place = *state;
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/job", place->store);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/job/.alpha.%s.%s", place->store, place->mark.boot,
		 place->mark.instance);
	assert_int_equal(mkdir(path, 0755), 0);
	strcat(path, "/node");
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(write(fd, "job\nal", 6), 6);
	close(fd);
	create(place, NULL, "job", "job/alpha");
	assert_int_equal(entries(place, "job"), 1);
}

static void the_directory_of_another_node_of_the_same_name_is_left_alone(void **state)
{
	struct place *place = *state;
	create(place, NULL, "job", "job/alpha");
	snprintf(place->mark.boot, sizeof(place->mark.boot), "another boot");
	create(place, NULL, "job", "job/alpha-2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		killed_before_the_job_was_noted_its_directory_is_taken_over, place_setup,
		place_teardown),
	    cmocka_unit_test_setup_teardown(an_open_job_of_the_same_id_keeps_its_directory,
					    place_setup, place_teardown),
	    cmocka_unit_test_setup_teardown(killed_while_the_mark_was_written_nothing_is_left_over,
					    place_setup, place_teardown),
	    cmocka_unit_test_setup_teardown(
		the_directory_of_another_node_of_the_same_name_is_left_alone, place_setup,
		place_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
