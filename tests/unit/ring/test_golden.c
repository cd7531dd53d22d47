/* Segments of every layout that has landed, read by today's reader: tests/golden/README.md has the
 * truth. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <errno.h>

#include "hooks/hook.h"
#include "ring/reader.h"

/* A file of tests/golden and the copy that is read: a reader writes to what it reads. */
struct golden {
	char directory[32];
	int at;
	const char *name;
	struct hk_segment_header header; /* as it lies there */
	struct hk_segment_status status;
	struct hk_reader *reader;
};

static void golden_open(struct golden *golden, const char *layout, const char *name)
{
	char path[512], bytes[4096];
	ssize_t got;
	snprintf(path, sizeof(path), HK_SOURCE_DIR "/tests/golden/segment-%s/%s", layout, name);
	snprintf(golden->directory, sizeof(golden->directory), "/tmp/hk-golden-XXXXXX");
	assert_non_null(mkdtemp(golden->directory));
	golden->name = name;
	golden->at = open(golden->directory, O_RDONLY | O_DIRECTORY);
	int from = open(path, O_RDONLY);
	int to = openat(golden->at, name, O_WRONLY | O_CREAT, 0600);
	assert_true(from >= 0 && golden->at >= 0 && to >= 0);
	assert_int_equal(pread(from, &golden->header, sizeof(golden->header), 0),
			 sizeof(golden->header));
	while ((got = read(from, bytes, sizeof(bytes))) > 0) {
		assert_int_equal(write(to, bytes, (size_t)got), got);
	}
	close(from);
	close(to);
	assert_int_equal(hk_reader_open(golden->at, name, &golden->reader), 0);
	assert_int_equal(hk_reader_refresh(golden->reader, &golden->status), 0);
}

static void golden_close(struct golden *golden)
{
	assert_int_equal(hk_reader_damage(golden->reader), 0);
	hk_reader_free(golden->reader);
	unlinkat(golden->at, golden->name, 0);
	close(golden->at);
	rmdir(golden->directory);
}

/* The function's only site. */
static const struct hk_site_info *site_of(const struct golden *golden, const char *function)
{
	for (uint32_t i = 0; i < golden->status.sites; i++) {
		const struct hk_site_info *site = hk_reader_site(golden->reader, i);
		assert_non_null(site);
		if (strcmp(site->function, function) == 0) {
			return site;
		}
	}
	fail_msg("no site of %s", function);
	return NULL;
}

struct counts {
	uint64_t calls, errors;
};

static struct counts counts_of(const struct golden *golden, const char *function)
{
	struct counts counts = {0, 0};
	struct hk_cell_copy cell;
	uint64_t cursor = 0;
	while (hk_reader_next_cell(golden->reader, &cursor, &cell) > 0) {
		const struct hk_site_info *site = hk_reader_site(golden->reader, cell.site);
		assert_non_null(site);
		if (strcmp(site->function, function) == 0) {
			counts.calls += cell.calls;
			counts.errors += cell.errors;
		}
	}
	return counts;
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
	struct golden golden;
	golden_open(&golden, "1.0", "6d1bb796697f59e3493ed226b93d2aad.seg");
	assert_int_equal(golden.header.minor, 0);
	const struct hk_segment_identity *identity = hk_reader_identity(golden.reader);
	assert_string_equal(identity->job, "golden");
	assert_string_equal(identity->command, "./calls_truth --count truth.json");
	assert_int_equal(golden.status.state, HK_STATE_EXITED);
	assert_int_equal(golden.status.exit_code, 0);
	assert_int_equal(counts_of(&golden, "calls_outer").calls, 20);
	assert_int_equal(counts_of(&golden, "calls_inner").calls, 40);
	assert_int_equal(counts_of(&golden, "calls_recurse").calls, 120);
	assert_int_equal(counts_of(&golden, "calls_truth_library_table").calls, 1);
	assert_int_equal(records_of(golden.reader), 181);
	/* What 1.1 added is not known of it. */
	assert_false(identity->forked);
	assert_int_equal(identity->budget_ppm, 0);
	assert_int_equal(golden.status.count_cost_ps, 0);
	assert_int_equal(golden.status.record_cost_ps, 0);
	assert_int_equal(golden.status.setup_ns, 0);
	assert_int_equal(golden.status.coverage.symbols_escaped, 0);
	assert_int_equal(golden.status.coverage.objects_hidden, 0);
	assert_int_equal(site_of(&golden, "calls_outer")->ceiling, 0);
	assert_string_equal(site_of(&golden, "calls_outer")->signature, "");
	golden_close(&golden);
}

/* The last records of the only thread are of told_two: three that failed, by their hooks line, with
 * marks, argument and result. */
static void check_arguments(const struct golden *golden)
{
	static const uint64_t words[][3] = {{0, 20, 22}, {0, 22, 24}, {0, 24, 26}};
	uint64_t told_two = site_of(golden, "told_two")->id, seen = 0;
	struct hk_run run;
	while (hk_reader_next_run(golden->reader, 0, HK_STREAM_CALLS, &run) > 0) {
		for (size_t at = 0; at < run.word_count;) {
			const uint64_t *record = run.words + at;
			uint64_t count = record[1] >> HK_RECORD_WORDS_SHIFT;
			if ((record[1] >> HK_RECORD_SITE_SHIFT & (HK_SITES_MAX - 1)) == told_two) {
				assert_int_equal(record[1] >> HK_RECORD_KIND_SHIFT & 15,
						 HK_RECORD_FAILED);
				assert_int_equal(count, 3);
				assert_true(seen < 3);
				assert_memory_equal(record + HK_RECORD_HEADER_WORDS, words[seen++],
						    sizeof(words[0]));
			}
			at += HK_RECORD_HEADER_WORDS + count;
		}
	}
	assert_int_equal(seen, 3);
}

#define PARENT_1_1 "5e3e0cc9b8ade42b529ed4e88a9b8b30.seg"

static void test_segment_1_1(void **state)
{
	(void)state;
	struct golden golden;
	golden_open(&golden, "1.1", PARENT_1_1);
	assert_int_equal(golden.header.minor, 1);
	const struct hk_segment_identity *identity = hk_reader_identity(golden.reader);
	assert_string_equal(identity->job, "golden");
	assert_string_equal(identity->command, "./told");
	assert_false(identity->forked);
	assert_int_equal(identity->budget_ppm, 20000);
	assert_int_equal(golden.status.state, HK_STATE_EXITED);
	assert_int_equal(golden.status.call_cost_ps, golden.header.call_cost_ps);
	assert_true(golden.status.count_cost_ps > 0 && golden.status.record_cost_ps > 0);
	assert_true(golden.status.count_cost_ps < golden.status.record_cost_ps);
	assert_true(golden.status.setup_ns > 0);
	assert_int_equal(golden.header.control_version, 2);
	assert_int_equal(golden.header.control_flags, 0);
	assert_string_equal(golden.header.rules[0].pattern, "libtold*:told_two");
	const struct hk_site_info *one = site_of(&golden, "told_one");
	const struct hk_site_info *two = site_of(&golden, "told_two");
	assert_string_equal(one->signature, "int(int value)");
	assert_int_equal(one->ceiling, HK_LEVEL_TIME);
	assert_int_equal(one->level, HK_LEVEL_TIME);
	assert_int_equal(one->pinned, 0);
	assert_int_equal(two->ceiling, 0);
	assert_int_equal(two->level, HK_LEVEL_COUNT);
	assert_int_equal(two->pinned, 1);
	assert_int_equal(counts_of(&golden, "told_one").calls, 30);
	assert_int_equal(counts_of(&golden, "told_two").calls, 7);
	assert_int_equal(counts_of(&golden, "told_two").errors, 3);
	check_arguments(&golden);
	golden_close(&golden);
	golden_open(&golden, "1.1", PARENT_1_1);
	assert_int_equal(records_of(golden.reader), 23);
	golden_close(&golden);
}

static void test_segment_1_1_of_a_forked_child(void **state)
{
	(void)state;
	struct golden parent, child;
	golden_open(&parent, "1.1", PARENT_1_1);
	golden_open(&child, "1.1", "c01d4088faacbc622ccf7ae14970bbc5.seg");
	const struct hk_segment_identity *identity = hk_reader_identity(child.reader);
	assert_true(identity->forked);
	assert_memory_equal(identity->parent, hk_reader_identity(parent.reader)->uid,
			    sizeof(identity->parent));
	assert_int_equal(identity->ppid, hk_reader_identity(parent.reader)->pid);
	assert_int_equal(child.header.control_version, 0);
	assert_int_equal(counts_of(&child, "told_one").calls, 5);
	assert_int_equal(records_of(child.reader), 5);
	golden_close(&child);
	golden_close(&parent);
}

/* A process that left its user, with two children that could make no segment. */
static void segment_1_2_names_untraced_processes(void **state)
{
	struct golden golden;
	struct hk_untraced_copy entry;
	(void)state;
	golden_open(&golden, "1.2", "c5d6758bbc88331bc1735aae3afef59f.seg");
	assert_int_equal(golden.header.minor, 2);
	assert_int_equal(golden.header.blocks_limit, 256);
	assert_int_equal(golden.status.untraced, 2);
	assert_true(hk_reader_identity(golden.reader)->forked);
	assert_int_equal(counts_of(&golden, "life_touch").calls, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_true(hk_reader_untraced(golden.reader, i, &entry));
		assert_int_equal(entry.state, HK_STATE_EXITED);
		assert_int_equal(entry.error, -EACCES);
		assert_int_equal(entry.ppid, golden.header.pid);
		assert_int_equal(entry.exit_code, i == 0 ? 5 : 0);
		assert_true(entry.start.monotonic_ns > golden.header.start.monotonic_ns);
	}
	assert_false(hk_reader_untraced(golden.reader, 2, &entry));
	golden_close(&golden);
}

static void segment_1_3_has_stacks(void **state)
{
	(void)state;
	struct golden golden;
	golden_open(&golden, "1.3", "0f528e67ebc738b260889c6df1ae0d47.seg");
	assert_int_equal(golden.header.minor, 3);
	assert_int_equal(golden.status.stacks_refused, 0);
	uint32_t stacks[8], count = 0, number = 0, frames = 0, depth = 0;
	struct hk_stack_frame frame[16];
	struct hk_stack_object object;
	const char *path;
	struct hk_run run;
	while (hk_reader_next_run(golden.reader, 0, HK_STREAM_CALLS, &run) > 0) {
		for (size_t at = 0; at < run.word_count && count < 8; count++) {
			uint64_t word1 = run.words[at + 1];
			at += HK_RECORD_HEADER_WORDS + (word1 >> HK_RECORD_WORDS_SHIFT);
			assert_int_equal(word1 >> HK_RECORD_KIND_SHIFT & 15, HK_RECORD_CALL_STACK);
			stacks[count] = (uint32_t)run.words[at - 1];
		}
	}
	assert_int_equal(count, 8);
	assert_int_equal(stacks[0], stacks[4]);
	assert_int_equal(stacks[5], stacks[7]);
	assert_int_not_equal(stacks[4], stacks[5]);
	while (frames < 16 && hk_reader_next_frame(golden.reader, &number, &frame[frames]) > 0) {
		frames++;
	}
	/* _start, two functions of libc, main and told.c's function for a line of input. */
	for (uint32_t at = stacks[0]; at > 0; at = frame[at - 1].caller) {
		assert_true(at <= frames);
		depth++;
	}
	assert_int_equal(depth, 5);
	number = 0;
	assert_int_equal(hk_reader_next_object(golden.reader, &number, &object, &path), 1);
	assert_string_equal(path, "/tmp/golden/told");
	assert_int_equal(object.build_id_bytes, 20);
	assert_int_equal(hk_reader_next_object(golden.reader, &number, &object, &path), 1);
	assert_string_equal(path, "/lib/x86_64-linux-gnu/libc.so.6");
	assert_int_equal(hk_reader_next_object(golden.reader, &number, &object, &path), 0);
	golden_close(&golden);
}

/* Three launches of one kernel by a Python function, each a record of the same stack. */
static void segment_1_4_has_python_frames_and_kernels(void **state)
{
	(void)state;
	struct golden golden;
	golden_open(&golden, "1.4", "338b218156250eb8d4610660738eeab9.seg");
	assert_int_equal(golden.header.minor, 4);
	assert_int_equal(golden.header.python >> 32, HK_PYTHON_READ);
	assert_int_equal(golden.header.python & 0xffff, 0x030b);
	uint32_t number = 0, frames = 0, stack = 0, launches = 0, python = 0;
	struct hk_stack_frame frame[64];
	struct hk_code_copy code;
	struct hk_kernel kernel;
	struct hk_run run;
	const char *name;
	while (hk_reader_next_kernel(golden.reader, &number, &kernel, &name) > 0) {
		assert_int_equal(number, 1);
		assert_string_equal(name, "_Z6goldenPf");
	}
	assert_int_equal(number, 1);
	while (hk_reader_next_run(golden.reader, 0, HK_STREAM_CALLS, &run) > 0) {
		for (size_t at = 0; at < run.word_count;) {
			uint64_t word1 = run.words[at + 1];
			at += HK_RECORD_HEADER_WORDS + (word1 >> HK_RECORD_WORDS_SHIFT);
			if ((word1 >> HK_RECORD_KIND_SHIFT & 15) == HK_RECORD_CALL_STACK) {
				uint32_t own = (uint32_t)run.words[at - 1];
				assert_true(launches == 0 || own == stack);
				stack = own;
				launches++;
			}
		}
	}
	assert_int_equal(launches, 3);
	for (number = 0;
	     frames < 64 && hk_reader_next_frame(golden.reader, &number, &frame[frames]) > 0;) {
		frames++;
	}
	static const char *const names[] = {"launch", "<listcomp>", "<module>"};
	for (uint32_t at = stack; at > 0; at = frame[at - 1].caller) {
		assert_true(at <= frames);
		if (frame[at - 1].object & HK_FRAME_PYTHON &&
		    frame[at - 1].object != HK_FRAME_END) {
			number = (frame[at - 1].object & ~HK_FRAME_PYTHON) - 1;
			assert_int_equal(hk_reader_next_code(golden.reader, &number, &code), 1);
			assert_true(python < 3);
			assert_string_equal(code.name, names[python++]);
			assert_string_equal(code.file, "/tmp/golden/golden.py");
		}
	}
	assert_int_equal(python, 3);
	golden_close(&golden);
}

/* Sites that a program defined. */
static void segment_1_5_has_sites_of_a_program(void **state)
{
	(void)state;
	struct golden golden;
	struct hk_cell_copy cell;
	uint64_t cursor = 0, calls = 0, inner = 0, longest = 0;
	golden_open(&golden, "1.5", "d4a5dfdd45a6d0555fe4130530145005.seg");
	assert_int_equal(golden.header.minor, 5);
	assert_int_equal(counts_of(&golden, "recurse (model.py:4)").calls, 5);
	assert_int_equal(records_of(golden.reader), 6);
	while (hk_reader_next_cell(golden.reader, &cursor, &cell) > 0) {
		const struct hk_site_info *site = hk_reader_site(golden.reader, cell.site);
		assert_string_equal(site->domain, "python");
		assert_string_equal(site->library, "/srv/model.py");
		assert_false(site->flags & HK_SITE_COUNTED);
		longest = strlen(site->function) > longest ? strlen(site->function) : longest;
		calls += cell.calls;
		inner += cell.inner_calls;
	}
	assert_int_equal(longest, 2000);
	assert_int_equal(calls, 6);
	assert_int_equal(inner, 4);
	golden_close(&golden);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_segment_1_0),
	    cmocka_unit_test(test_segment_1_1),
	    cmocka_unit_test(test_segment_1_1_of_a_forked_child),
	    cmocka_unit_test(segment_1_2_names_untraced_processes),
	    cmocka_unit_test(segment_1_3_has_stacks),
	    cmocka_unit_test(segment_1_4_has_python_frames_and_kernels),
	    cmocka_unit_test(segment_1_5_has_sites_of_a_program),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
