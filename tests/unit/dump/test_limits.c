/* What has no room is left out and counted by its reason; nothing else is lost. The writer has a
 * thread of its own (pthread_create). */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(payloads_are_left_out_before_rows),
	    cmocka_unit_test(rows_beyond_the_limit_are_counted),
	    cmocka_unit_test(elements_without_a_digest_are_counted),
	    cmocka_unit_test(forked_child_writes_nothing),
	    cmocka_unit_test(second_file_of_a_process_has_a_name_of_its_own),
	    cmocka_unit_test(directory_that_cannot_be_made_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
