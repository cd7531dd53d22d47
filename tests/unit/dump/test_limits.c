/* What has no room is left out and counted by its reason; nothing else is lost. The writer has a
 * thread of its own (pthread_create). */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "dump_fixture.h"

#define ELEMENTS 4096u
#define LIMIT (256u << 10)

/* Adds row number I with elements of its own. */
static void add(struct hk_dump_writer *writer, unsigned i, bool with_elements)
{
	static const uint64_t shape[] = {ELEMENTS};
	static uint32_t data[ELEMENTS];
	const struct hk_tensor tensor = {data, HK_DTYPE_U32, 1, shape, NULL};

	for (unsigned k = 0; k < ELEMENTS; k++) {
		data[k] = (i * ELEMENTS + k) * 2654435761u;
	}
	struct hk_dump_row row = fixture_row(&tensor);
	row.sequence = row.storage = i;
	hk_dump_writer_add(writer, &row, with_elements ? &tensor : NULL);
}

static void payloads_are_left_out_before_rows(void **state)
{
	const unsigned many = 400;
	struct fixture fixture;
	struct hk_dump_counts counts;
	const char *damage;
	bool complete;

	(void)state;
	fixture_begin(&fixture);
	struct hk_dump_settings settings = fixture_settings(&fixture);
	settings.limit_bytes = LIMIT;
	settings.compression = 0;
	struct hk_dump_writer *writer = fixture_writer(&settings);
	for (unsigned i = 0; i < many; i++) {
		add(writer, i, true);
	}
	assert_int_equal(hk_dump_writer_close(writer, &counts), 0);
	assert_int_equal(counts.rows, many);
	assert_in_range(counts.payloads, 1, many - 1);
	assert_int_equal(counts.payloads + counts.payloads_left[HK_DUMP_LEFT_LIMIT], many);
	assert_int_equal(counts.payload_bytes_left_out,
			 (many - counts.payloads) * ELEMENTS * sizeof(uint32_t));
	struct hk_dump_file *file = fixture_read(&fixture);
	counts = hk_dump_file_counts(file, &complete, &damage);
	assert_true(complete);
	assert_null(damage);
	assert_int_equal(counts.payloads + counts.payloads_left_out, many);
	assert_in_range(counts.bytes, 1, LIMIT);
	hk_dump_file_close(file);
	fixture_end(&fixture);
}

static void rows_beyond_the_limit_are_counted(void **state)
{
	const unsigned many = 100000;
	struct fixture fixture;
	struct hk_dump_counts counts;
	struct hk_dump_row row = {.name = "f", .of = "", .slot = "", .device = ""};
	uint32_t seed = 1;

	(void)state;
	fixture_begin(&fixture);
	struct hk_dump_settings settings = fixture_settings(&fixture);
	settings.limit_bytes = LIMIT;
	struct hk_dump_writer *writer = fixture_writer(&settings);
	for (unsigned i = 0; i < many; i++) {
		seed = seed * 1664525u + 1013904223u;
		row.sequence = i;
		row.storage = (uint64_t)seed << 24;
		hk_dump_writer_add(writer, &row, NULL);
		if (i % 1000 == 999) {
			hk_dump_writer_step(writer, i / 1000);
		}
	}
	assert_int_equal(hk_dump_writer_close(writer, &counts), 0);
	assert_in_range(counts.rows, 1, many - 1);
	assert_int_equal(counts.rows + counts.rows_left[HK_DUMP_LEFT_LIMIT], many);
	assert_in_range(counts.bytes, 1, LIMIT);
	struct hk_dump_file *file = fixture_read(&fixture);
	assert_int_equal(hk_dump_file_rows(file), counts.rows);
	hk_dump_file_close(file);
	fixture_end(&fixture);
}

static void elements_without_a_digest_are_counted(void **state)
{
	static const uint64_t shape[] = {1};
	const struct hk_tensor tensor = {shape, HK_DTYPE_U8, 1, shape, NULL};
	struct hk_tensor unknown = tensor;
	struct fixture fixture;
	struct hk_dump_counts counts;

	(void)state;
	fixture_begin(&fixture);
	const struct hk_dump_settings settings = fixture_settings(&fixture);
	struct hk_dump_writer *writer = fixture_writer(&settings);
	struct hk_dump_row row = fixture_row(&tensor);
	unknown.dtype = HK_DTYPE_NONE;
	hk_dump_writer_add(writer, &row, &unknown);
	row.flags = HK_DUMP_NO_STATISTICS;
	hk_dump_writer_add(writer, &row, &tensor);
	assert_int_equal(hk_dump_writer_close(writer, &counts), 0);
	assert_int_equal(counts.rows, 2);
	assert_int_equal(counts.payloads_left[HK_DUMP_LEFT_UNKNOWN], 2);
	fixture_end(&fixture);
}

static int run_child(struct hk_dump_writer *writer)
{
	struct hk_dump_counts counts;

	for (unsigned i = 0; i < 10; i++) {
		add(writer, 1000 + i, true);
		hk_dump_writer_step(writer, i);
	}
	if (hk_dump_writer_counts(writer).rows_left[HK_DUMP_LEFT_FORK] != 10) {
		return 1;
	}
	if (hk_dump_writer_close(writer, &counts) != 0 || counts.rows != 0) {
		return 2;
	}
	return counts.payloads_left[HK_DUMP_LEFT_FORK] == 10 ? 0 : 3;
}

static void forked_child_writes_nothing(void **state)
{
	struct fixture fixture;
	struct hk_dump_counts counts;
	int status;

	(void)state;
	fixture_begin(&fixture);
	const struct hk_dump_settings settings = fixture_settings(&fixture);
	struct hk_dump_writer *writer = fixture_writer(&settings);
	for (unsigned i = 0; i < 100; i++) {
		add(writer, i, true);
		if (i == 50) {
			pid_t child = fork();
			if (child == 0) {
				_exit(run_child(writer));
			}
			assert_int_equal(waitpid(child, &status, 0), child);
			assert_int_equal(status, 0);
		}
	}
	assert_int_equal(hk_dump_writer_close(writer, &counts), 0);
	assert_int_equal(counts.rows, 100);
	assert_int_equal(counts.payloads, 100);
	assert_int_equal(counts.rows_left_out, 0);
	struct hk_dump_file *file = fixture_read(&fixture);
	assert_int_equal(hk_dump_file_rows(file), 100);
	hk_dump_file_close(file);
	fixture_end(&fixture);
}

static void second_file_of_a_process_has_a_name_of_its_own(void **state)
{
	struct fixture fixture;
	struct hk_dump_counts counts;
	char second[200];

	(void)state;
	fixture_begin(&fixture);
	const struct hk_dump_settings settings = fixture_settings(&fixture);
	struct hk_dump_writer *writers[2] = {fixture_writer(&settings), fixture_writer(&settings)};
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned k = 0; k <= i; k++) {
			add(writers[i], k, true);
		}
		assert_int_equal(hk_dump_writer_close(writers[i], &counts), 0);
	}
	struct hk_dump_file *file = fixture_read(&fixture);
	assert_int_equal(hk_dump_file_rows(file), 1);
	hk_dump_file_close(file);
	(void)unlink(fixture.path);
	snprintf(second, sizeof(second), "%s/rank3-%d.1.hkv", fixture.directory, getpid());
	assert_int_equal(rename(second, fixture.path), 0);
	file = fixture_read(&fixture);
	assert_int_equal(hk_dump_file_rows(file), 2);
	hk_dump_file_close(file);
	fixture_end(&fixture);
}

static void directory_that_cannot_be_made_is_an_error(void **state)
{
	struct fixture fixture;
	char reason[256];

	(void)state;
	fixture_begin(&fixture);
	struct hk_dump_settings settings = fixture_settings(&fixture);
	settings.directory = "/proc/self/none/dump";
	assert_null(hk_dump_writer_open(&settings, reason, sizeof(reason)));
	assert_non_null(
	    strstr(reason, "cannot make the directory /proc/self/none/dump: No such file"));
	fixture_end(&fixture);
}

/* The mask of blocked signals of the thread NAME of this process, or 0. */
static uint64_t blocked_signals(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	uint64_t blocked = 0;

	assert_non_null(tasks);
	while ((entry = readdir(tasks)) != NULL) {
		char path[300], line[200], wanted[64];
		bool found = false;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		snprintf(wanted, sizeof(wanted), "Name:\t%s\n", name);
		FILE *status = fopen(path, "re");
		while (status && fgets(line, sizeof(line), status)) {
			found |= strcmp(line, wanted) == 0;
			if (found && strncmp(line, "SigBlk:", 7) == 0) {
				blocked = strtoull(line + 7, NULL, 16);
			}
		}
		if (status) {
			fclose(status);
		}
	}
	closedir(tasks);
	return blocked;
}

static void thread_takes_no_signal_of_the_program(void **state)
{
	static const int blocked[] = {SIGINT, SIGTERM, SIGPROF, SIGCHLD, SIGUSR1, SIGXFSZ};
	struct fixture fixture;
	struct hk_dump_counts counts;
	uint64_t mask;

	(void)state;
	fixture_begin(&fixture);
	const struct hk_dump_settings settings = fixture_settings(&fixture);
	struct hk_dump_writer *writer = fixture_writer(&settings);
	add(writer, 1, true);
	hk_dump_writer_step(writer, 1);
	while (hk_dump_writer_counts(writer).rows == 0) {
	}
	mask = blocked_signals("hook-dump");
	for (size_t i = 0; i < sizeof(blocked) / sizeof(blocked[0]); i++) {
		assert_true(mask >> (blocked[i] - 1) & 1);
	}
	assert_false(mask >> (SIGSEGV - 1) & 1);
	assert_int_equal(hk_dump_writer_close(writer, &counts), 0);
	fixture_end(&fixture);
}

/* Its signal would end the program. */
static void limit_of_the_process_is_an_error(void **state)
{
	struct fixture fixture;
	struct hk_dump_counts counts;
	struct rlimit limit;
	char reason[256];

	(void)state;
	fixture_begin(&fixture);
	struct hk_dump_settings settings = fixture_settings(&fixture);
	settings.compression = 0;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	const struct rlimit low = {100000, limit.rlim_max}, least = {10, limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &least), 0);
	assert_null(hk_dump_writer_open(&settings, reason, sizeof(reason)));
	assert_int_equal(unlink(fixture.path), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	struct hk_dump_writer *writer = fixture_writer(&settings);
	for (unsigned i = 0; i < 20; i++) {
		add(writer, i, true);
	}
	assert_int_equal(hk_dump_writer_close(writer, &counts), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(counts.rows + counts.rows_left_out, 20);
	assert_int_equal(counts.payloads + counts.payloads_left[HK_DUMP_LEFT_DISK], 20);
	assert_in_range(counts.payloads, 1, 19);
	fixture_end(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(payloads_are_left_out_before_rows),
	    cmocka_unit_test(rows_beyond_the_limit_are_counted),
	    cmocka_unit_test(elements_without_a_digest_are_counted),
	    cmocka_unit_test(forked_child_writes_nothing),
	    cmocka_unit_test(second_file_of_a_process_has_a_name_of_its_own),
	    cmocka_unit_test(directory_that_cannot_be_made_is_an_error),
	    cmocka_unit_test(thread_takes_no_signal_of_the_program),
	    cmocka_unit_test(limit_of_the_process_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
