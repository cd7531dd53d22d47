/* Segments of every layout that has landed, read by today's reader: tests/golden/README.md has the
 * truth. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ring/reader.h"

#define GOLDEN "6d1bb796697f59e3493ed226b93d2aad.seg"

/* A reader writes to what it reads, so it gets a copy. */
static int open_copy(char directory[])
{
	char bytes[4096];
	ssize_t got;
	assert_non_null(mkdtemp(directory));
	int from = open(HK_SOURCE_DIR "/tests/golden/segment-1.0/" GOLDEN, O_RDONLY);
	int at = open(directory, O_RDONLY | O_DIRECTORY);
	int to = openat(at, GOLDEN, O_WRONLY | O_CREAT, 0600);
	assert_true(from >= 0 && at >= 0 && to >= 0);
	while ((got = read(from, bytes, sizeof(bytes))) > 0) {
		assert_int_equal(write(to, bytes, (size_t)got), got);
	}
	close(from);
	close(to);
	return at;
}

static uint64_t calls_of(struct hk_reader *reader, const char *function)
{
	struct hk_cell_copy cell;
	uint64_t cursor = 0, calls = 0;
	while (hk_reader_next_cell(reader, &cursor, &cell) > 0) {
		const struct hk_site_info *site = hk_reader_site(reader, cell.site);
		assert_non_null(site);
		calls += strcmp(site->function, function) == 0 ? cell.calls : 0;
	}
	return calls;
}

static uint64_t records_of(struct hk_reader *reader)
{
	struct hk_run run;
	uint64_t records = 0;
	while (hk_reader_next_run(reader, 0, HK_STREAM_CALLS, &run) > 0) {
		for (size_t at = 0; at < run.word_count; records++) {
			at += HK_RECORD_HEADER_WORDS + (run.words[at + 1] >> HK_RECORD_WORDS_SHIFT);
		}
	}
	return records;
}

static void test_segment_1_0(void **state)
{
	(void)state;
	char directory[] = "/tmp/hk-golden-XXXXXX";
	struct hk_segment_status status;
	struct hk_reader *reader;
	int at = open_copy(directory);
	assert_int_equal(hk_reader_open(at, GOLDEN, &reader), 0);
	assert_int_equal(hk_reader_refresh(reader, &status), 0);
	const struct hk_segment_identity *identity = hk_reader_identity(reader);
	assert_string_equal(identity->job, "golden");
	assert_string_equal(identity->command, "./calls_truth --count truth.json");
	assert_int_equal(status.state, HK_STATE_EXITED);
	assert_int_equal(status.exit_code, 0);
	assert_int_equal(calls_of(reader, "calls_outer"), 20);
	assert_int_equal(calls_of(reader, "calls_inner"), 40);
	assert_int_equal(calls_of(reader, "calls_recurse"), 120);
	assert_int_equal(calls_of(reader, "calls_truth_library_table"), 1);
	assert_int_equal(records_of(reader), 181);
	assert_int_equal(hk_reader_damage(reader), 0);
	hk_reader_free(reader);
	unlinkat(at, GOLDEN, 0);
	close(at);
	rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_segment_1_0)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
