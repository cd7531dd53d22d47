/* A disk that fails, by a pwritev of the test's: the writer and its thread (pthread_create) keep
 * the error, leave out, continue at the next step, and the file has whole blocks only. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

#include "dump_fixture.h"

#define ROWS 10u

static atomic_int error, partial; /* errno of all writes; they write this many bytes before */
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* a write waits for it */

ssize_t __real_pwritev(int fd, const struct iovec *parts, int count, off_t at);
ssize_t __wrap_pwritev(int fd, const struct iovec *parts, int count, off_t at);
ssize_t __wrap_pwritev(int fd, const struct iovec *parts, int count, off_t at)
{
	pthread_mutex_lock(&gate);
	pthread_mutex_unlock(&gate);
	if (!atomic_load(&error)) {
		return __real_pwritev(fd, parts, count, at);
	}
	const int bytes = atomic_exchange(&partial, 0);
	if (bytes > 0) {
		struct iovec first = {parts[0].iov_base, (size_t)bytes};
		return __real_pwritev(fd, &first, 1, at);
	}
	errno = atomic_load(&error);
	return -1;
}

static void add_step(struct hk_dump_writer *writer, uint64_t step)
{
	static uint64_t data[512];
	const uint64_t shape[] = {512};
	const struct hk_tensor tensor = {data, HK_DTYPE_U64, 1, shape, NULL};
	char name[32];

	snprintf(name, sizeof(name), "name of step %u", (unsigned)step);
	for (unsigned i = 0; i < ROWS; i++) {
		data[0] = step * ROWS + i + 1;
		struct hk_dump_row row = fixture_row(&tensor);
		row.sequence = step * ROWS + i;
		row.step = step;
		row.name = name;
		hk_dump_writer_add(writer, &row, &tensor);
	}
	hk_dump_writer_step(writer, step);
}

/* Waits until the thread has counted all rows of the steps up to this one. */
static void settle(struct hk_dump_writer *writer, uint64_t steps)
{
	struct hk_dump_counts counts;

	do {
		counts = hk_dump_writer_counts(writer);
	} while (counts.rows + counts.rows_left_out < steps * ROWS);
}

/* Step 1 of three meets ERROR after BYTES bytes of its first block. */
static void fail_one_step(int number, int bytes)
{
	struct fixture fixture;
	struct hk_dump_counts counts;
	struct hk_dump_row row;
	const char *damage, *reason;
	bool complete;

	fixture_begin(&fixture);
	const struct hk_dump_settings settings = fixture_settings(&fixture);
	struct hk_dump_writer *writer = fixture_writer(&settings);
	add_step(writer, 0);
	settle(writer, 1);
	pthread_mutex_lock(&gate);
	atomic_store(&error, number);
	atomic_store(&partial, bytes);
	pthread_mutex_unlock(&gate);
	add_step(writer, 1);
	settle(writer, 2);
	pthread_mutex_lock(&gate);
	atomic_store(&error, 0);
	pthread_mutex_unlock(&gate);
	hk_dump_writer_step(writer, 1);
	hk_dump_writer_step(writer, 1);
	add_step(writer, 2);
	assert_int_equal(hk_dump_writer_close(writer, &counts), -number);
	assert_int_equal(counts.rows, 2 * ROWS);
	assert_int_equal(counts.rows_left[HK_DUMP_LEFT_DISK], ROWS);
	assert_int_equal(counts.payloads + counts.payloads_left[HK_DUMP_LEFT_DISK], 3 * ROWS);
	assert_int_equal(counts.error, number);

	struct hk_dump_file *file = fixture_read(&fixture);
	assert_int_equal(hk_dump_file_rows(file), 2 * ROWS);
	(void)hk_dump_file_counts(file, &complete, &damage);
	assert_true(complete);
	assert_null(damage);
	hk_dump_file_row(file, ROWS, &row);
	assert_int_equal(row.step, 2);
	assert_string_equal(row.name, "name of step 2");
	assert_non_null(hk_dump_file_elements(file, 0, &reason));
	hk_dump_file_close(file);
	fixture_end(&fixture);
}

static void full_disk_that_is_freed_continues(void **state)
{
	(void)state;
	fail_one_step(ENOSPC, 0);
	fail_one_step(EDQUOT, 0);
	fail_one_step(EIO, 0);
}

static void partial_write_leaves_whole_blocks(void **state)
{
	(void)state;
	for (int bytes = 1; bytes < 72; bytes += 7) {
		fail_one_step(ENOSPC, bytes);
	}
}

static void removed_file_is_an_error(void **state)
{
	struct fixture fixture;
	struct hk_dump_counts counts;

	(void)state;
	fixture_begin(&fixture);
	const struct hk_dump_settings settings = fixture_settings(&fixture);
	struct hk_dump_writer *writer = fixture_writer(&settings);
	add_step(writer, 0);
	settle(writer, 1);
	assert_int_equal(unlink(fixture.path), 0);
	hk_dump_writer_step(writer, 0);
	add_step(writer, 1);
	assert_int_equal(hk_dump_writer_close(writer, &counts), -ENOENT);
	assert_int_equal(counts.rows, ROWS);
	assert_int_equal(counts.rows_left[HK_DUMP_LEFT_DISK], ROWS);
	fixture_end(&fixture);
}

/* The disk takes nothing until the program has found out that it need not wait again. */
static void stuck_disk_makes_the_program_wait_once(void **state)
{
	const uint64_t steps = 40;
	struct fixture fixture;
	struct hk_dump_counts counts;

	(void)state;
	fixture_begin(&fixture);
	struct hk_dump_settings settings = fixture_settings(&fixture);
	settings.queue_bytes = 300000;
	struct hk_dump_writer *writer = fixture_writer(&settings);
	pthread_mutex_lock(&gate);
	for (uint64_t step = 0; step < steps; step++) {
		add_step(writer, step);
	}
	pthread_mutex_unlock(&gate);
	assert_int_equal(hk_dump_writer_close(writer, &counts), 0);
	assert_int_not_equal(counts.rows_left[HK_DUMP_LEFT_SLOW], 0);
	assert_int_equal(counts.rows + counts.rows_left_out, steps * ROWS);
	assert_int_equal(counts.payloads + counts.payloads_left_out, steps * ROWS);
	assert_true(counts.wait_ns >= 5000000000u);
	struct hk_dump_file *file = fixture_read(&fixture);
	assert_int_equal(hk_dump_file_rows(file), counts.rows);
	for (size_t i = 0; i < counts.rows; i++) {
		struct hk_dump_row row;
		char name[32];
		hk_dump_file_row(file, i, &row);
		snprintf(name, sizeof(name), "name of step %u", (unsigned)row.step);
		assert_string_equal(row.name, name);
	}
	hk_dump_file_close(file);
	fixture_end(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(full_disk_that_is_freed_continues),
	    cmocka_unit_test(partial_write_leaves_whole_blocks),
	    cmocka_unit_test(removed_file_is_an_error),
	    cmocka_unit_test(stuck_disk_makes_the_program_wait_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
