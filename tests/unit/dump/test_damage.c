/* Files that are cut, damaged, or written by a process that is killed: what is whole is read, every
 * row that is read is one that was written, and what is missing is said. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "dump_fixture.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "dump/format.h"

#define ROWS 12u
#define KILLS 20u

/* Row number I: all that it has follows from I. */
static void add(struct hk_dump_writer *writer, uint64_t i, uint64_t elements)
{
	const uint64_t shape[] = {elements};
	uint64_t *data = calloc(elements, sizeof(*data));
	const struct hk_tensor tensor = {data, HK_DTYPE_U64, 1, shape, NULL};
	char name[32], frame[32];
	const char *frames[] = {frame};

	for (uint64_t k = 0; k < elements; k++) {
		data[k] = (i + 1) * 0x9e3779b97f4a7c15u * (k + 1);
	}
	snprintf(name, sizeof(name), "name %u", (unsigned)(i % 5));
	snprintf(frame, sizeof(frame), "file:%u f", (unsigned)(i % 3));
	struct hk_dump_row row = fixture_row(&tensor);
	row.sequence = i;
	row.name = name;
	row.stack = hk_dump_writer_stack(writer, frames, 1);
	hk_dump_writer_add(writer, &row, &tensor);
	free(data);
}

/* Requires that a row, its texts, stack and elements are what was added, or said to be missing. */
static void check_row(struct hk_dump_file *file, size_t index, bool whole)
{
	struct hk_dump_row row;
	char name[32], frame[32];
	const char *const *frames;
	const char *reason = NULL;

	hk_dump_file_row(file, index, &row);
	snprintf(name, sizeof(name), "name %u", (unsigned)(row.sequence % 5));
	snprintf(frame, sizeof(frame), "file:%u f", (unsigned)(row.sequence % 3));
	if (whole || strcmp(row.name, "?") != 0) {
		assert_string_equal(row.name, name);
	}
	if (hk_dump_file_stack(file, row.stack, &frames) == 1 && strcmp(frames[0], "?") != 0) {
		assert_string_equal(frames[0], frame);
	} else {
		assert_false(whole);
	}
	const uint64_t *data = hk_dump_file_elements(file, index, &reason);
	assert_true(data || (!whole && reason));
	for (uint64_t k = 0; data && k < row.statistics.count; k++) {
		assert_int_equal(data[k], (row.sequence + 1) * 0x9e3779b97f4a7c15u * (k + 1));
	}
}

struct image {
	struct fixture fixture;
	uint8_t *bytes;
	size_t size;
};

static void write_image(const struct image *image, const uint8_t *bytes, size_t size)
{
	int fd = open(image->fixture.path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

/* A small file with blocks of each type. */
static void begin_image(struct image *image)
{
	struct hk_dump_counts counts;
	struct stat status;

	fixture_begin(&image->fixture);
	const struct hk_dump_settings settings = fixture_settings(&image->fixture);
	struct hk_dump_writer *writer = fixture_writer(&settings);
	for (unsigned i = 0; i < ROWS; i++) {
		add(writer, i, 8);
		if (i % 4 == 3) {
			hk_dump_writer_step(writer, i / 4);
		}
	}
	assert_int_equal(hk_dump_writer_close(writer, &counts), 0);
	int fd = open(image->fixture.path, O_RDONLY);
	assert_int_equal(fstat(fd, &status), 0);
	image->size = (size_t)status.st_size;
	image->bytes = malloc(image->size);
	assert_int_equal(read(fd, image->bytes, image->size), image->size);
	close(fd);
}

static void end_image(struct image *image)
{
	free(image->bytes);
	fixture_end(&image->fixture);
}

static size_t block_end(const struct image *image, size_t at)
{
	struct hk_dump_block block;

	memcpy(&block, image->bytes + at, sizeof(block));
	return at + sizeof(block) + (block.stored_bytes + 7) / 8 * 8;
}

static void file_cut_anywhere_keeps_whole_blocks(void **state)
{
	struct image image;
	const char *damage;
	char reason[256];
	bool complete;
	size_t end = 0, rows = 0;

	(void)state;
	begin_image(&image);
	for (size_t size = 0; size <= image.size; size++) {
		write_image(&image, image.bytes, size);
		end = size == block_end(&image, end) ? size : end;
		struct hk_dump_file *file =
		    hk_dump_file_open(image.fixture.path, reason, sizeof(reason));
		if (!file) {
			assert_int_equal(end, 0);
			continue;
		}
		assert_in_range(hk_dump_file_rows(file), rows, ROWS);
		rows = hk_dump_file_rows(file);
		for (size_t i = 0; i < rows; i++) {
			check_row(file, i, true);
		}
		(void)hk_dump_file_counts(file, &complete, &damage);
		assert_int_equal(complete, size == image.size);
		assert_int_equal(damage == NULL, size == end);
		hk_dump_file_close(file);
	}
	assert_int_equal(rows, ROWS);
	end_image(&image);
}

static void changed_byte_is_noticed(void **state)
{
	struct image image;
	const char *damage, *reason_text = NULL;
	char reason[256];
	bool complete;

	(void)state;
	begin_image(&image);
	for (size_t at = 0; at < image.size; at++) {
		image.bytes[at] ^= 1u << at % 8;
		write_image(&image, image.bytes, image.size);
		image.bytes[at] ^= 1u << at % 8;
		struct hk_dump_file *file =
		    hk_dump_file_open(image.fixture.path, reason, sizeof(reason));
		assert_non_null(file);
		size_t rows = hk_dump_file_rows(file), unreadable = 0;
		assert_in_range(rows, ROWS - 4, ROWS);
		for (size_t i = 0; i < rows; i++) {
			check_row(file, i, false);
			unreadable += !hk_dump_file_elements(file, i, &reason_text);
		}
		assert_in_range(unreadable, 0, 1);
		(void)hk_dump_file_counts(file, &complete, &damage);
		/* What pads a block means nothing. */
		if (rows < ROWS) {
			assert_non_null(damage);
		}
		hk_dump_file_close(file);
	}
	end_image(&image);
}

static void garbage_between_blocks_is_skipped(void **state)
{
	struct image image;
	struct hk_dump_counts counts;
	const char *damage;
	bool complete;

	(void)state;
	begin_image(&image);
	uint8_t *bytes = malloc(2 * image.size + 1000000);
	const size_t about = block_end(&image, 0);
	memcpy(bytes, image.bytes, about);
	memset(bytes + about, 'K', 1000000); /* the first byte of the magic */
	memcpy(bytes + about + 1000000, image.bytes + about, image.size - about);
	write_image(&image, bytes, image.size + 1000000);
	struct hk_dump_file *file = fixture_read(&image.fixture);
	counts = hk_dump_file_counts(file, &complete, &damage);
	assert_int_equal(hk_dump_file_rows(file), ROWS);
	assert_int_equal(counts.rows, ROWS);
	assert_non_null(strstr(damage, "are damaged"));
	hk_dump_file_close(file);
	free(bytes);
	end_image(&image);
}

static void write_until_killed(const struct fixture *fixture)
{
	const struct hk_dump_settings settings = fixture_settings(fixture);
	struct hk_dump_writer *writer = fixture_writer(&settings);

	for (uint64_t i = 0;; i++) {
		add(writer, i, 1 + i * 37 % 3000);
		if (i % 7 == 6) {
			hk_dump_writer_step(writer, i / 7);
		}
	}
}

static void process_killed_anywhere_leaves_its_first_rows(void **state)
{
	uint32_t seed = 7;

	(void)state;
	for (unsigned round = 0; round < KILLS; round++) {
		struct fixture fixture;
		struct stat status = {0};
		seed = seed * 1664525u + 1013904223u;
		const off_t bytes = 200 + (seed >> 8) % 2000000;
		fixture_begin(&fixture);
		pid_t child = fork();
		if (child == 0) {
			write_until_killed(&fixture);
		}
		snprintf(fixture.path, sizeof(fixture.path), "%s/rank3-%d.hkv", fixture.directory,
			 child);
		while (stat(fixture.path, &status) != 0 || status.st_size < bytes) {
		}
		assert_int_equal(kill(child, SIGKILL), 0);
		assert_int_equal(waitpid(child, NULL, 0), child);
		struct hk_dump_file *file = fixture_read(&fixture);
		for (size_t i = 0; i < hk_dump_file_rows(file); i++) {
			struct hk_dump_row row;
			hk_dump_file_row(file, i, &row);
			assert_int_equal(row.sequence, i);
			check_row(file, i, true);
		}
		hk_dump_file_close(file);
		fixture_end(&fixture);
	}
}

static void newer_major_is_refused(void **state)
{
	struct image image;
	struct hk_dump_block block;
	char reason[256];

	(void)state;
	begin_image(&image);
	memcpy(&block, image.bytes, sizeof(block));
	block.major = 2;
	block.header_checksum =
	    XXH3_64bits(&block, offsetof(struct hk_dump_block, header_checksum));
	memcpy(image.bytes, &block, sizeof(block));
	write_image(&image, image.bytes, image.size);
	assert_null(hk_dump_file_open(image.fixture.path, reason, sizeof(reason)));
	assert_non_null(strstr(reason, ": a newer version of hooktrace wrote it"));
	end_image(&image);
}

static void newer_minor_is_read(void **state)
{
	struct image image;
	struct hk_dump_block block;
	const char *damage;
	bool complete;

	(void)state;
	begin_image(&image);
	for (size_t at = 0; at < image.size; at = block_end(&image, at)) {
		memcpy(&block, image.bytes + at, sizeof(block));
		block.minor = 7;
		block.type = block.type == HK_DUMP_BLOCK_STEP ? 99 : block.type;
		block.header_checksum =
		    XXH3_64bits(&block, offsetof(struct hk_dump_block, header_checksum));
		memcpy(image.bytes + at, &block, sizeof(block));
	}
	write_image(&image, image.bytes, image.size);
	struct hk_dump_file *file = fixture_read(&image.fixture);
	assert_int_equal(hk_dump_file_rows(file), ROWS);
	(void)hk_dump_file_counts(file, &complete, &damage);
	assert_true(complete);
	assert_null(damage);
	hk_dump_file_close(file);
	end_image(&image);
}

static void what_is_no_dump_is_an_error(void **state)
{
	static const char *const paths[] = {"/dev/null", "/proc/self/none", "/tmp",
					    "/proc/self/maps"};
	char reason[256];

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_null(hk_dump_file_open(paths[i], reason, sizeof(reason)));
		assert_non_null(strstr(reason, paths[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(file_cut_anywhere_keeps_whole_blocks),
	    cmocka_unit_test(changed_byte_is_noticed),
	    cmocka_unit_test(garbage_between_blocks_is_skipped),
	    cmocka_unit_test(process_killed_anywhere_leaves_its_first_rows),
	    cmocka_unit_test(newer_major_is_refused),
	    cmocka_unit_test(newer_minor_is_read),
	    cmocka_unit_test(what_is_no_dump_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
