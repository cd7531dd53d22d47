/* Chunk files of every layout that has landed, read by today's cursor: tests/golden/README.md has
 * the truth. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "chunk/codec/header.h"
#include "chunk/read/cursor.h"

#define GOLDEN HK_SOURCE_DIR "/tests/golden/chunk-"

static void test_chunks_1_0(void **state)
{
	(void)state;
	const struct hk_record *records;
	struct hk_cursor *cursor;
	uint64_t recurse = 0, all = 0, start = 0;
	size_t count;
	int fd = open(GOLDEN "1.0/6d1bb796697f59e3493ed226b93d2aad.chunks", O_RDONLY);
	assert_true(fd >= 0);
	struct hk_loader *loader = hk_loader_new();
	assert_int_equal(hk_cursor_new(loader, fd, &cursor), 0);
	while (hk_cursor_batch(cursor, &records, &count) > 0) {
		for (size_t i = 0; i < count; i++, all++) {
			const struct hk_chunk_site *site = hk_cursor_site(cursor, records[i].site);
			assert_non_null(site);
			assert_null(site->signature);
			recurse += strcmp(site->function, "calls_recurse") == 0;
			assert_true(records[i].start_ticks >= start);
			start = records[i].start_ticks;
		}
	}
	assert_int_equal(all, 181);
	assert_int_equal(recurse, 120);
	assert_int_equal(hk_cursor_stats(cursor)->damaged, 0);
	hk_cursor_free(cursor);
	hk_loader_free(loader);
	close(fd);
}

/* Calls of told_two keep argument and result, and failed. */
static void test_chunks_1_1(void **state)
{
	static const uint64_t words[][3] = {{0, 20, 22}, {0, 22, 24}, {0, 24, 26}};
	(void)state;
	const struct hk_record *records;
	struct hk_cursor *cursor;
	uint64_t one = 0, two = 0;
	size_t count;
	int fd = open(GOLDEN "1.1/5e3e0cc9b8ade42b529ed4e88a9b8b30.chunks", O_RDONLY);
	assert_true(fd >= 0);
	struct hk_loader *loader = hk_loader_new();
	assert_int_equal(hk_cursor_new(loader, fd, &cursor), 0);
	while (hk_cursor_batch(cursor, &records, &count) > 0) {
		for (size_t i = 0; i < count; i++) {
			const struct hk_chunk_site *site = hk_cursor_site(cursor, records[i].site);
			assert_non_null(site);
			if (strcmp(site->function, "told_one") == 0) {
				assert_int_equal(records[i].kind, HK_CHUNK_KIND_CALL);
				assert_int_equal(records[i].words[0], one++);
				continue;
			}
			assert_string_equal(site->function, "told_two");
			assert_string_equal(site->signature, "int(int value)");
			assert_int_equal(records[i].kind, HK_CHUNK_KIND_FAILED);
			assert_int_equal(records[i].word_count, 3);
			assert_true(two < 3);
			assert_memory_equal(records[i].words, words[two++], sizeof(words[0]));
		}
	}
	assert_int_equal(one, 20);
	assert_int_equal(two, 3);
	assert_int_equal(hk_cursor_stats(cursor)->damaged, 0);
	hk_cursor_free(cursor);
	hk_loader_free(loader);
	close(fd);
}

/* The oldest chunks were given up: what they had is counted, and no number is missing. */
static void test_chunks_2_0(void **state)
{
	(void)state;
	const struct hk_record *records;
	struct hk_cursor *cursor;
	struct hk_chunk_header header;
	uint64_t inner = 0, all = 0, offset, number = 0;
	size_t count;
	int fd = open(GOLDEN "2.0/37f651a60486df9d497accc2191acab4.chunks", O_RDONLY);
	assert_true(fd >= 0);
	struct hk_loader *loader = hk_loader_new();
	assert_int_equal(hk_cursor_new(loader, fd, &cursor), 0);
	while (hk_cursor_batch(cursor, &records, &count) > 0) {
		for (size_t i = 0; i < count; i++, all++) {
			const struct hk_chunk_site *site = hk_cursor_site(cursor, records[i].site);
			assert_non_null(site);
			inner += strcmp(site->function, "calls_inner") == 0;
		}
	}
	assert_int_equal(all, 2844);
	assert_int_equal(inner, 710);
	assert_int_equal(hk_cursor_stats(cursor)->shed_records, 1649 + 11512);
	assert_int_equal(hk_cursor_stats(cursor)->damaged, 0);
	struct hk_chunk_walk walk = HK_CHUNK_WALK(fd);
	while (hk_chunk_walk_next(&walk, &header, &offset) > 0) {
		assert_int_equal(hk_chunk_first_number(&header), number + 1);
		number = header.number;
	}
	assert_int_equal(number, 5);
	hk_cursor_free(cursor);
	hk_loader_free(loader);
	close(fd);
}

/* One that a newer hooktrace wrote is refused as such, and left alone. */
static void test_a_newer_chunk_is_refused(void **state)
{
	(void)state;
	uint8_t bytes[1368];
	struct hk_chunk_scan scan;
	struct hk_cursor *cursor;
	int from = open(GOLDEN "1.0/6d1bb796697f59e3493ed226b93d2aad.chunks", O_RDONLY);
	int fd = memfd_create("newer", MFD_CLOEXEC);
	assert_true(from >= 0 && fd >= 0);
	assert_int_equal(read(from, bytes, sizeof(bytes)), sizeof(bytes));
	bytes[8] = HK_CHUNK_MAJOR + 1;
	hk_chunk_header_seal(bytes, sizeof(bytes));
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	struct hk_loader *loader = hk_loader_new();
	assert_int_equal(hk_cursor_new(loader, fd, &cursor), -EPROTO);
	assert_int_equal(hk_chunk_file_scan(fd, &scan), -EPROTO);
	hk_loader_free(loader);
	close(from);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_chunks_1_0), cmocka_unit_test(test_chunks_1_1),
	    cmocka_unit_test(test_chunks_2_0), cmocka_unit_test(test_a_newer_chunk_is_refused)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
