/* Kernels of a segment, as they are written and read again; also when their blocks are damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring/reader.h"
#include "ring/writer.h"

#define BLOCKS 256u
#define NAME_MOST 10000u

struct fixture {
	char directory[64];
	uint32_t pool_room[2 * BLOCKS];
	struct hk_writer writer;
	struct hk_reader *reader;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct hk_segment_header template = {
	    .uid = {1}, .tick_ns_q32 = 1ull << 32, .clock_kind = HK_CLOCK_MONOTONIC};

	strcpy(fixture->directory, "/tmp/hk-kernels-XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	assert_int_equal(hk_writer_create(&fixture->writer, fixture->directory, &template, BLOCKS,
					  fixture->pool_room),
			 0);
	int directory = open(fixture->directory, O_RDONLY | O_DIRECTORY);
	assert_int_equal(
	    hk_reader_open(directory, strrchr(fixture->writer.path, '/') + 1, &fixture->reader), 0);
	close(directory);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	hk_reader_free(fixture->reader);
	unlink(fixture->writer.path);
	rmdir(fixture->directory);
	free(fixture);
	return 0;
}

/* A name of LENGTH bytes. Names of one length differ only in the last byte. */
static const char *name_of(uint32_t length, char last)
{
	static char name[NAME_MOST + 1];

	memset(name, 'n', length);
	name[length - 1] = last;
	name[length] = '\0';
	return name;
}

static uint32_t write_kernel(struct fixture *fixture, uint32_t length, char last, uint64_t hash)
{
	const struct hk_kernel kernel = {.hash = hash, .name_bytes = length};

	return hk_writer_kernel(&fixture->writer, &kernel, name_of(length, last));
}

static uint32_t read_all(struct fixture *fixture, uint32_t number)
{
	struct hk_segment_status status;
	struct hk_kernel kernel;
	const char *name;
	int r = hk_reader_refresh(fixture->reader, &status);

	while (r == 0 &&
	       (r = hk_reader_next_kernel(fixture->reader, &number, &kernel, &name)) > 0) {
		size_t length = strlen(name);
		assert_true(length <= HK_KERNEL_NAME_BYTES && number <= HK_KERNELS_MAX);
		for (size_t i = 0; i < length; i++) {
			assert_true((unsigned char)name[i] >= ' ' && name[i] != 0x7f);
		}
		r = 0;
	}
	return number;
}

static void names_are_read_as_written(void **state)
{
	struct fixture *fixture = *state;
	static const uint32_t lengths[] = {1, 7, 8, 9, 407, 3011, 4582, 8191, 8192, 9999};
	const uint32_t count = sizeof(lengths) / sizeof(lengths[0]);
	struct hk_segment_status status;
	struct hk_kernel kernel;
	uint32_t number = 0;
	const char *name;

	for (uint32_t i = 0; i < 3 * count; i++) {
		assert_int_equal(write_kernel(fixture, lengths[i % count], (char)('a' + i), i),
				 i + 1);
	}
	assert_int_equal(hk_reader_refresh(fixture->reader, &status), 0);
	for (uint32_t i = 0; i < 3 * count; i++) {
		uint32_t length = lengths[i % count];
		const char *wanted = name_of(length, (char)('a' + i));
		assert_int_equal(hk_reader_next_kernel(fixture->reader, &number, &kernel, &name),
				 1);
		assert_int_equal(number, i + 1);
		assert_int_equal(kernel.hash, i);
		assert_int_equal(kernel.name_bytes, length);
		assert_int_equal(strlen(name), length < 8192 ? length : 8192);
		assert_memory_equal(name, wanted, strlen(name));
	}
	assert_int_equal(hk_reader_next_kernel(fixture->reader, &number, &kernel, &name), 0);
	/* A later one, and again from the middle. */
	assert_int_equal(write_kernel(fixture, 5, 'x', 77), 3 * count + 1);
	assert_int_equal(hk_reader_next_kernel(fixture->reader, &number, &kernel, &name), 1);
	assert_string_equal(name, "nnnnx");
	number = 1;
	assert_int_equal(hk_reader_next_kernel(fixture->reader, &number, &kernel, &name), 1);
	assert_string_equal(name, "nnnnnnb");
}

static void kernel_without_name_keeps_its_place(void **state)
{
	struct fixture *fixture = *state;
	const struct hk_kernel written = {.hash = 1, .object = 3, .address = 0x1234};
	struct hk_segment_status status;
	struct hk_kernel kernel;
	uint32_t number = 0;
	const char *name;

	assert_int_equal(hk_writer_kernel(&fixture->writer, &written, NULL), 1);
	assert_int_equal(hk_reader_refresh(fixture->reader, &status), 0);
	assert_int_equal(hk_reader_next_kernel(fixture->reader, &number, &kernel, &name), 1);
	assert_string_equal(name, "");
	assert_int_equal(kernel.object, 3);
	assert_int_equal(kernel.address, 0x1234);
}

/* Kernels have a share of the segment. Beyond it they get no number, and others have their room. */
static void names_leave_room_to_others(void **state)
{
	struct fixture *fixture = *state;
	uint32_t count = 0;

	while (write_kernel(fixture, 4000, 'z', count)) {
		count++;
	}
	assert_in_range(count, 4 * (BLOCKS / 16), 4 * (BLOCKS / 16 + 1));
	assert_int_equal(read_all(fixture, 0), count);
	assert_non_null(hk_writer_cell(&fixture->writer));
	assert_non_null(hk_writer_page(&fixture->writer, 0, HK_STREAM_CALLS, 0, 1, 1));
}

static uint64_t roll(uint64_t *seed, uint64_t limit)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (*seed >> 33) % limit;
}

/* Whatever the bytes say, what is read has an end and can be printed. */
static void damaged_names_are_bounded(void **state)
{
	struct fixture *fixture = *state;
	uint64_t seed = 20261125;
	char good[HK_BLOCK_BYTES];

	for (uint32_t i = 0; i < 40; i++) {
		write_kernel(fixture, 1 + i * 9, 'z', i);
	}
	char *block = (char *)fixture->writer.header +
		      (size_t)fixture->writer.open_block[HK_BLOCK_KERNELS] * HK_BLOCK_BYTES;
	memcpy(good, block, sizeof(good));
	for (int round = 0; round < 2000; round++) {
		for (uint64_t count = 1 + roll(&seed, 8); count > 0; count--) {
			size_t at = roll(&seed, 2) ? 16 + roll(&seed, 4)
						   : sizeof(struct hk_block) + roll(&seed, 9000);
			block[at] = (char)roll(&seed, 256);
		}
		read_all(fixture, 0);
		memcpy(block, good, sizeof(good));
	}
	assert_int_equal(read_all(fixture, 0), 40);
}

int main(void)
{
#define KERNEL_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	    KERNEL_TEST(names_are_read_as_written),
	    KERNEL_TEST(kernel_without_name_keeps_its_place),
	    KERNEL_TEST(names_leave_room_to_others),
	    KERNEL_TEST(damaged_names_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
