#include "model.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "chunk/codec/header.h"
#include "chunk/read/file.h"

#define CHUNKS 4
#define RECORDS 30

/* A file of CHUNKS chunks in memory. Chunk i has the positions of chain i and chain 9. */
struct fixture {
	int fd;
	uint8_t *chunks[CHUNKS];
	size_t sizes[CHUNKS];
	uint64_t offsets[CHUNKS + 1];
};

static uint8_t *make_chunk(uint8_t process_byte, uint64_t number, size_t *ret_size)
{
	const struct hk_chunk_options options = {.ticks_per_ns = MODEL_TICKS_PER_NS};
	struct hk_chunk_writer *writer = hk_chunk_writer_new(&options);
	const uint8_t process[16] = {process_byte};
	struct model_chain chain;
	struct model model = {0};
	const void *bytes;
	size_t consumed, size;

	hk_chunk_writer_begin(writer, process, number);
	model_chain_begin(&chain, (uint32_t)number, number * 100000);
	while (model.count < RECORDS) {
		model_make_call(&model, &chain, 5);
	}
	assert_int_equal(
	    hk_chunk_writer_add(writer, &chain.position, chain.words, chain.count, &consumed), 0);
	const struct hk_chunk_position common = {.slot = 9, .position = number * 64};
	assert_int_equal(hk_chunk_writer_mark(writer, &common), 0);
	assert_int_equal(hk_chunk_writer_finish(writer, number * 10, &bytes, &size), 0);
	uint8_t *copy = malloc(size);
	assert_non_null(copy);
	memcpy(copy, bytes, size);
	*ret_size = size;
	free(model.calls);
	model_chain_end(&chain);
	hk_chunk_writer_free(writer);
	return copy;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->fd = memfd_create("chunks", MFD_CLOEXEC);
	for (int i = 0; i < CHUNKS; i++) {
		fixture->chunks[i] = make_chunk(7, (uint64_t)i + 1, &fixture->sizes[i]);
		assert_int_equal(hk_chunk_file_append(fixture->fd, fixture->offsets[i],
						      fixture->chunks[i], fixture->sizes[i]),
				 0);
		fixture->offsets[i + 1] = fixture->offsets[i] + fixture->sizes[i];
	}
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < CHUNKS; i++) {
		free(fixture->chunks[i]);
	}
	close(fixture->fd);
	free(fixture);
	return 0;
}

/* The first `chunks` chunks and nothing else are sound. */
static void check_prefix(const struct fixture *fixture, const struct hk_chunk_scan *scan,
			 unsigned chunks)
{
	assert_int_equal(scan->valid_bytes, fixture->offsets[chunks]);
	assert_int_equal(scan->chunks, chunks);
	assert_int_equal(scan->skipped, 0);
	assert_int_equal(scan->records, chunks * RECORDS);
	assert_int_equal(scan->last_number, chunks);
	assert_int_equal(scan->lost_records, chunks * 10);
	/* One chain for each chunk, and the one they share at its latest place. */
	assert_int_equal(scan->position_count, chunks ? chunks + 1 : 0);
	for (unsigned i = 0; i < chunks; i++) {
		assert_int_equal(scan->positions[i].slot, i + 1);
	}
	if (chunks) {
		assert_int_equal(scan->process[0], 7);
		assert_int_equal(scan->positions[chunks].slot, 9);
		assert_int_equal(scan->positions[chunks].position, chunks * 64);
	}
}

static void test_scan_finds_what_was_appended(void **state)
{
	const struct fixture *fixture = *state;
	struct hk_chunk_scan scan;

	assert_int_equal(hk_chunk_file_scan(fixture->fd, &scan), 0);
	check_prefix(fixture, &scan, CHUNKS);
	assert_int_equal(scan.file_bytes, scan.valid_bytes);
	hk_chunk_scan_fini(&scan);
}

static void test_a_torn_tail_of_any_length_is_cut(void **state)
{
	const struct fixture *fixture = *state;
	uint64_t start = fixture->offsets[CHUNKS - 1];
	struct hk_chunk_scan scan;

	for (uint64_t size = fixture->offsets[CHUNKS] - 1; size >= start; size--) {
		assert_int_equal(ftruncate(fixture->fd, (off_t)size), 0);
		assert_int_equal(hk_chunk_file_scan(fixture->fd, &scan), 0);
		check_prefix(fixture, &scan, CHUNKS - 1);
		assert_int_equal(scan.file_bytes, size);
		hk_chunk_scan_fini(&scan);
	}
	/* And continues where it was cut. */
	assert_int_equal(hk_chunk_file_append(fixture->fd, start, fixture->chunks[CHUNKS - 1],
					      fixture->sizes[CHUNKS - 1]),
			 0);
	assert_int_equal(hk_chunk_file_scan(fixture->fd, &scan), 0);
	check_prefix(fixture, &scan, CHUNKS);
	hk_chunk_scan_fini(&scan);
}

static void test_a_damaged_last_chunk_is_cut(void **state)
{
	const struct fixture *fixture = *state;
	struct hk_chunk_scan scan;

	assert_int_equal(
	    pwrite(fixture->fd, "\xff\x00\xff", 3, (off_t)fixture->offsets[CHUNKS] - 3), 3);
	assert_int_equal(hk_chunk_file_scan(fixture->fd, &scan), 0);
	check_prefix(fixture, &scan, CHUNKS - 1);
	hk_chunk_scan_fini(&scan);
}

/* All chunks but the second must be found. */
static void check_without_second(int fd, uint64_t file_bytes)
{
	struct hk_chunk_scan scan;

	assert_int_equal(hk_chunk_file_scan(fd, &scan), 0);
	assert_int_equal(scan.chunks, CHUNKS - 1);
	assert_int_equal(scan.skipped, 1);
	assert_int_equal(scan.last_number, CHUNKS);
	assert_int_equal(scan.valid_bytes, file_bytes);
	assert_int_equal(scan.position_count, CHUNKS);
	hk_chunk_scan_fini(&scan);
}

static void test_damage_in_the_middle_is_stepped_over(void **state)
{
	const struct fixture *fixture = *state;

	for (size_t at = 0; at < fixture->sizes[1]; at++) {
		uint8_t byte = fixture->chunks[1][at] ^ 0x55;
		off_t offset = (off_t)(fixture->offsets[1] + at);
		assert_int_equal(pwrite(fixture->fd, &byte, 1, offset), 1);
		check_without_second(fixture->fd, fixture->offsets[CHUNKS]);
		assert_int_equal(pwrite(fixture->fd, &fixture->chunks[1][at], 1, offset), 1);
	}
}

static void test_a_torn_chunk_that_others_follow_is_stepped_over(void **state)
{
	const struct fixture *fixture = *state;

	for (size_t keep = 1; keep < fixture->sizes[1]; keep += 3) {
		uint64_t at = fixture->offsets[1] + keep;
		for (int i = 2; i < CHUNKS; i++) {
			assert_int_equal(hk_chunk_file_append(fixture->fd, at, fixture->chunks[i],
							      fixture->sizes[i]),
					 0);
			at += fixture->sizes[i];
		}
		assert_int_equal(ftruncate(fixture->fd, (off_t)at), 0);
		check_without_second(fixture->fd, at);
		assert_int_equal(hk_chunk_file_append(fixture->fd, fixture->offsets[1],
						      fixture->chunks[1], fixture->sizes[1]),
				 0);
	}
}

static void test_repeated_and_foreign_chunks_do_not_count(void **state)
{
	const struct fixture *fixture = *state;
	uint64_t end = fixture->offsets[CHUNKS];
	struct hk_chunk_scan scan;
	size_t size;

	uint8_t *foreign = make_chunk(8, CHUNKS + 1, &size);
	assert_int_equal(
	    hk_chunk_file_append(fixture->fd, end, fixture->chunks[2], fixture->sizes[2]), 0);
	assert_int_equal(hk_chunk_file_append(fixture->fd, end + fixture->sizes[2], foreign, size),
			 0);
	assert_int_equal(hk_chunk_file_scan(fixture->fd, &scan), 0);
	check_prefix(fixture, &scan, CHUNKS);
	hk_chunk_scan_fini(&scan);
	free(foreign);
}

static void test_a_failed_append_leaves_no_tail(void **state)
{
	const struct fixture *fixture = *state;
	struct rlimit old, limit;
	struct hk_chunk_scan scan;
	uint64_t end = fixture->offsets[CHUNKS - 1];

	assert_int_equal(ftruncate(fixture->fd, (off_t)end), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = end + fixture->sizes[CHUNKS - 1] / 2;
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	int rc = hk_chunk_file_append(fixture->fd, end, fixture->chunks[CHUNKS - 1],
				      fixture->sizes[CHUNKS - 1]);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, handler);
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(lseek(fixture->fd, 0, SEEK_END), end);
	assert_int_equal(hk_chunk_file_scan(fixture->fd, &scan), 0);
	check_prefix(fixture, &scan, CHUNKS - 1);
	hk_chunk_scan_fini(&scan);
}

static void test_files_of_other_things_hold_nothing(void **state)
{
	const struct fixture *fixture = *state;
	struct hk_chunk_scan scan;
	const uint64_t magic = HK_CHUNK_MAGIC;

	assert_int_equal(ftruncate(fixture->fd, 0), 0);
	assert_int_equal(hk_chunk_file_scan(fixture->fd, &scan), 0);
	check_prefix(fixture, &scan, 0);
	hk_chunk_scan_fini(&scan);
	/* Magics over magics, across the border of a search window too. */
	for (off_t at = 0; at < 140000; at += 13) {
		assert_int_equal(pwrite(fixture->fd, &magic, sizeof(magic), at), sizeof(magic));
	}
	assert_int_equal(hk_chunk_file_scan(fixture->fd, &scan), 0);
	check_prefix(fixture, &scan, 0);
	hk_chunk_scan_fini(&scan);
	assert_int_equal(
	    hk_chunk_file_append(fixture->fd, 65530, fixture->chunks[0], fixture->sizes[0]), 0);
	assert_int_equal(hk_chunk_file_scan(fixture->fd, &scan), 0);
	assert_int_equal(scan.chunks, 1);
	assert_int_equal(scan.valid_bytes, 65530 + fixture->sizes[0]);
	hk_chunk_scan_fini(&scan);
	assert_int_equal(hk_chunk_file_scan(-1, &scan), -EBADF);
}

static void test_a_chunk_behind_a_hole_is_found_wherever_it_begins(void **state)
{
	const struct fixture *fixture = *state;
	struct hk_chunk_scan scan;

	/* Around the border of two search windows. */
	for (uint64_t at = 65520; at < 65550; at++) {
		assert_int_equal(ftruncate(fixture->fd, 0), 0);
		assert_int_equal(
		    hk_chunk_file_append(fixture->fd, at, fixture->chunks[0], fixture->sizes[0]),
		    0);
		assert_int_equal(hk_chunk_file_scan(fixture->fd, &scan), 0);
		assert_int_equal(scan.chunks, 1);
		assert_int_equal(scan.skipped_bytes, at);
		hk_chunk_scan_fini(&scan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_scan_finds_what_was_appended, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_a_torn_tail_of_any_length_is_cut, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_a_damaged_last_chunk_is_cut, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_damage_in_the_middle_is_stepped_over, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(test_a_torn_chunk_that_others_follow_is_stepped_over,
					    setup, teardown),
	    cmocka_unit_test_setup_teardown(test_repeated_and_foreign_chunks_do_not_count, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(test_a_failed_append_leaves_no_tail, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_files_of_other_things_hold_nothing, setup,
					    teardown),
	    cmocka_unit_test_setup_teardown(test_a_chunk_behind_a_hole_is_found_wherever_it_begins,
					    setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
