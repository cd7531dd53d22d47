#include "model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunk/codec/writer.h"
#include "chunk/read/cursor.h"
#include "chunk/read/front.h"

#define LOST 7

/* What the front does to its file can be made to fail from the n-th time on, as if it had been
 * killed there. */
static int writes_left = -1, punches_left = -1;

ssize_t __real_pwrite(int fd, const void *bytes, size_t size, off_t offset);
int __real_fallocate(int fd, int mode, off_t offset, off_t length);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t offset);
int __wrap_fallocate(int fd, int mode, off_t offset, off_t length);

static bool fails(int *left)
{
	if (*left > 0) {
		--*left;
		return false;
	}
	return *left == 0;
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	if (fails(&writes_left)) {
		errno = EIO;
		return -1;
	}
	return __real_pwrite(fd, bytes, size, offset);
}

int __wrap_fallocate(int fd, int mode, off_t offset, off_t length)
{
	if (fails(&punches_left)) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return __real_fallocate(fd, mode, offset, length);
}

/* A file that grows at its end and is given up at its front. */
struct growing {
	int fd;
	uint64_t end, number, records;
	struct hk_chunk_writer *writer;
	struct hk_chunk_front front;
};

static void growing_begin(struct growing *growing)
{
	const struct hk_chunk_options options = {.ticks_per_ns = MODEL_TICKS_PER_NS};

	*growing = (struct growing){.fd = memfd_create("chunks", MFD_CLOEXEC)};
	growing->writer = hk_chunk_writer_new(&options);
	growing->front = HK_CHUNK_FRONT(growing->fd);
	writes_left = punches_left = -1;
}

static void growing_end(struct growing *growing)
{
	writes_left = punches_left = -1;
	hk_chunk_writer_free(growing->writer);
	close(growing->fd);
}

/* Chunk n has n's own chain if n is at most CHAINS, so those are in one chunk only, and chain 99.
 */
#define CHAINS 20

static void grow(struct growing *growing, unsigned calls)
{
	uint64_t number = ++growing->number;
	uint32_t slot = number <= CHAINS ? (uint32_t)number : 50;
	const struct hk_chunk_position common = {.slot = 99, .position = number * 64};
	struct model_chain chain;
	struct model model = {0};
	const void *bytes;
	size_t consumed, size;

	hk_chunk_writer_begin(growing->writer, (const uint8_t[16]){5}, number);
	model_chain_begin(&chain, slot, number * 100000);
	while (model.count < calls) {
		model_make_call(&model, &chain, 5);
	}
	assert_int_equal(hk_chunk_writer_add(growing->writer, &chain.position, chain.words,
					     chain.count, &consumed),
			 0);
	assert_int_equal(hk_chunk_writer_mark(growing->writer, &common), 0);
	assert_int_equal(hk_chunk_writer_finish(growing->writer, LOST, &bytes, &size), 0);
	uint64_t at = hk_chunk_file_location(growing->end);
	assert_int_equal(hk_chunk_file_append(growing->fd, at, bytes, size), 0);
	growing->end = at + size;
	growing->records += model.count;
	free(model.calls);
	model_chain_end(&chain);
}

/* Records that a reader finds. */
static uint64_t read_records(int fd, struct hk_cursor_stats *ret_stats)
{
	struct hk_loader *loader = hk_loader_new();
	const struct hk_record *records;
	struct hk_cursor *cursor;
	uint64_t all = 0;
	size_t count;

	assert_int_equal(hk_cursor_new(loader, fd, &cursor), 0);
	while (hk_cursor_batch(cursor, &records, &count) > 0) {
		all += count;
	}
	*ret_stats = *hk_cursor_stats(cursor);
	hk_cursor_free(cursor);
	hk_loader_free(loader);
	return all;
}

/* Whatever was given up: every number is there, every position, and every record is kept or
 * counted. */
static uint64_t check_whole(const struct growing *growing)
{
	struct hk_chunk_walk walk = HK_CHUNK_WALK(growing->fd);
	struct hk_chunk_header header;
	struct hk_chunk_scan scan;
	struct hk_cursor_stats stats;
	uint64_t offset, number = 0, headers = 0;

	while (hk_chunk_walk_next(&walk, &header, &offset) > 0) {
		assert_int_equal(hk_chunk_first_number(&header), number + 1);
		number = header.number;
		headers++;
	}
	assert_int_equal(number, growing->number);
	assert_int_equal(hk_chunk_file_scan(growing->fd, &scan), 0);
	assert_int_equal(scan.valid_bytes, growing->end);
	assert_int_equal(scan.skipped, 0);
	assert_int_equal(scan.last_number, growing->number);
	assert_int_equal(scan.lost_records, LOST);
	assert_int_equal(scan.records + scan.shed_records + scan.elsewhere_records,
			 growing->records);
	uint64_t chains = growing->number <= CHAINS ? growing->number : CHAINS + 1;
	assert_int_equal(scan.position_count, chains + 1);
	assert_int_equal(scan.positions[chains].slot, 99);
	assert_int_equal(scan.positions[chains].position, growing->number * 64);
	assert_int_equal(read_records(growing->fd, &stats), scan.records);
	assert_int_equal(stats.shed_records, scan.shed_records);
	assert_int_equal(stats.damaged, 0);
	hk_chunk_scan_fini(&scan);
	return headers;
}

static uint64_t held_bytes(const struct growing *growing)
{
	struct stat status;

	assert_int_equal(fstat(growing->fd, &status), 0);
	return (uint64_t)status.st_blocks * 512;
}

static void test_a_shed_chunk_leaves_its_number_positions_and_count(void **state)
{
	struct growing growing;
	uint64_t freed;

	(void)state;
	growing_begin(&growing);
	for (unsigned i = 1; i <= 4; i++) {
		grow(&growing, 3000 * i);
	}
	uint64_t before = held_bytes(&growing);
	assert_int_equal(hk_chunk_front_find(&growing.front), 1);
	assert_int_equal(growing.front.oldest.header.number, 1);
	uint64_t records =
	    growing.front.oldest.header.records + growing.front.oldest.header.long_records;
	assert_int_equal(hk_chunk_front_evict(&growing.front, 0, true, &freed), 0);
	assert_true(freed > 3000);
	assert_true(held_bytes(&growing) < before);
	assert_int_equal(check_whole(&growing), 4);
	struct hk_cursor_stats stats;
	assert_int_equal(read_records(growing.fd, &stats), growing.records - records);
	assert_int_equal(stats.shed_records, records);
	assert_int_equal(hk_chunk_front_find(&growing.front), 1);
	assert_int_equal(growing.front.oldest.header.number, 2);
	growing_end(&growing);
}

/* What is kept elsewhere is neither here nor lost, and never joined with what is lost. */
static void test_chunks_that_are_elsewhere_are_not_lost(void **state)
{
	struct growing growing;
	struct hk_cursor_stats stats;
	uint64_t freed;

	(void)state;
	growing_begin(&growing);
	for (unsigned i = 1; i <= 12; i++) {
		grow(&growing, 1000);
	}
	for (unsigned i = 1; i <= 9; i++) {
		assert_int_equal(hk_chunk_front_find(&growing.front), 1);
		assert_int_equal(hk_chunk_front_evict(&growing.front,
						      i <= 3 || i > 6 ? HK_CHUNK_ELSEWHERE : 0,
						      true, &freed),
				 0);
		check_whole(&growing);
	}
	/* 1, 2-3, 4-6, 7-9, and three with their records. */
	assert_int_equal(check_whole(&growing), 7);
	assert_int_equal(read_records(growing.fd, &stats), growing.records / 4);
	assert_int_equal(stats.shed_records, growing.records / 4);
	growing_end(&growing);
}

/* A file that is written for ever: neither its blocks nor its headers grow. */
static void test_tombstones_become_one(void **state)
{
	struct growing growing;
	uint64_t freed, most = 0;

	(void)state;
	growing_begin(&growing);
	for (unsigned i = 0; i < 1000; i++) {
		/* Of all sizes: some have no hole that a tombstone fits in. */
		grow(&growing, i % 7 == 0 ? 2000 : 1 + i % 40);
		while (growing.number > 10 &&
		       growing.front.walk.last_number + 10 < growing.number) {
			assert_int_equal(hk_chunk_front_find(&growing.front), 1);
			assert_int_equal(hk_chunk_front_evict(&growing.front, 0, true, &freed), 0);
		}
		uint64_t held = i > 100 ? held_bytes(&growing) : 0;
		most = held > most ? held : most;
		if (i % 50 == 0) {
			uint64_t headers = check_whole(&growing);
			assert_true(headers <= 11 + 2 + CHAINS);
		}
		if (i == 500) {
			/* The successor continues after a restart. */
			growing.front = HK_CHUNK_FRONT(growing.fd);
			assert_int_equal(hk_chunk_front_find(&growing.front), 1);
		}
	}
	check_whole(&growing);
	assert_true(most < 300000);
	growing_end(&growing);
}

static void test_tombstones_that_were_not_told_of_stay_apart(void **state)
{
	struct growing growing;
	uint64_t freed;

	(void)state;
	growing_begin(&growing);
	for (unsigned i = 0; i < 8; i++) {
		grow(&growing, 1000);
	}
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(hk_chunk_front_find(&growing.front), 1);
		assert_int_equal(hk_chunk_front_evict(&growing.front, 0, false, &freed), 0);
	}
	assert_int_equal(check_whole(&growing), 8);
	growing_end(&growing);
}

/* Dies after the n-th write, for every n; the successor finds a whole file and continues. */
static void test_a_kill_anywhere_leaves_a_whole_file(void **state)
{
	struct growing growing;
	uint64_t freed;
	int deaths = 0;

	(void)state;
	for (int kills = 0; kills < 40; kills++) {
		growing_begin(&growing);
		for (unsigned i = 1; i <= 12; i++) {
			grow(&growing, 100 * i);
		}
		writes_left = kills;
		for (unsigned i = 0; i < 10; i++) {
			assert_int_equal(hk_chunk_front_find(&growing.front), 1);
			if (hk_chunk_front_evict(&growing.front, 0, true, &freed) < 0 ||
			    writes_left == 0) {
				punches_left = 0;
				deaths++;
				break;
			}
		}
		writes_left = punches_left = -1;
		check_whole(&growing);
		growing.front = HK_CHUNK_FRONT(growing.fd);
		while (hk_chunk_front_find(&growing.front) > 0 &&
		       growing.front.oldest.header.number <= 11) {
			assert_int_equal(hk_chunk_front_evict(&growing.front, 0, true, &freed), 0);
		}
		check_whole(&growing);
		growing_end(&growing);
	}
	assert_true(deaths > 20);
}

static void test_a_file_system_without_holes_keeps_its_records(void **state)
{
	struct growing growing;
	struct hk_cursor_stats stats;
	uint64_t freed;

	(void)state;
	growing_begin(&growing);
	grow(&growing, 100);
	grow(&growing, 100);
	punches_left = 0;
	assert_int_equal(hk_chunk_front_find(&growing.front), 1);
	assert_int_equal(hk_chunk_front_evict(&growing.front, 0, true, &freed), -EOPNOTSUPP);
	assert_int_equal(freed, 0);
	assert_int_equal(read_records(growing.fd, &stats), 200);
	growing_end(&growing);
}

/* Over the wire a tombstone is a header; so is one that stands for many. */
static void test_tombstones_travel_as_headers(void **state)
{
	struct growing growing;
	struct hk_chunk_header header;
	uint8_t bytes[HK_CHUNK_HEADER_BYTES];
	uint64_t freed, offset;

	(void)state;
	growing_begin(&growing);
	for (unsigned i = 0; i < 5; i++) {
		grow(&growing, 1000);
	}
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(hk_chunk_front_find(&growing.front), 1);
		assert_int_equal(hk_chunk_front_evict(&growing.front, 0, true, &freed), 0);
	}
	struct hk_chunk_walk walk = HK_CHUNK_WALK(growing.fd);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(hk_chunk_walk_next(&walk, &header, &offset), 1);
	}
	hk_chunk_header_tombstone(&header, 0, bytes);
	assert_int_equal(hk_chunk_header_verify(bytes, sizeof(bytes), &header), 0);
	assert_int_equal(header.span, sizeof(bytes));
	assert_int_equal(header.first_number, 2);
	assert_int_equal(header.number, 4);
	assert_int_equal(hk_chunk_evicted_records(&header), 3000);
	assert_true(header.min_start_ticks < header.max_end_ticks);
	growing_end(&growing);
}

/* A reader that has read a header and then cannot read the body reads the header again before it
 * reports damage. */
static void test_what_is_shed_behind_a_readers_back_is_gone(void **state)
{
	struct growing growing;
	struct hk_chunk_header header;
	uint64_t offsets[3], freed;
	(void)state;
	growing_begin(&growing);
	for (unsigned i = 0; i < 3; i++) {
		grow(&growing, 1000);
	}
	struct hk_chunk_walk walk = HK_CHUNK_WALK(growing.fd);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(hk_chunk_walk_next(&walk, &header, &offsets[i]), 1);
		assert_false(hk_chunk_file_is_evicted(growing.fd, offsets[i]));
	}
	/* The second one becomes a part of the first one's tombstone. */
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(hk_chunk_front_find(&growing.front), 1);
		assert_int_equal(hk_chunk_front_evict(&growing.front, 0, true, &freed), 0);
		assert_true(hk_chunk_file_is_evicted(growing.fd, offsets[i]));
	}
	assert_int_equal(pwrite(growing.fd, "damage", 6, (off_t)growing.end - 6), 6);
	assert_false(hk_chunk_file_is_evicted(growing.fd, offsets[2]));
	growing_end(&growing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_shed_chunk_leaves_its_number_positions_and_count),
	    cmocka_unit_test(test_chunks_that_are_elsewhere_are_not_lost),
	    cmocka_unit_test(test_tombstones_become_one),
	    cmocka_unit_test(test_tombstones_that_were_not_told_of_stay_apart),
	    cmocka_unit_test(test_a_kill_anywhere_leaves_a_whole_file),
	    cmocka_unit_test(test_a_file_system_without_holes_keeps_its_records),
	    cmocka_unit_test(test_tombstones_travel_as_headers),
	    cmocka_unit_test(test_what_is_shed_behind_a_readers_back_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
