/* When records leave a file system to others, and what a file that cannot grow is shared out to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ring/writer.h"

#define MIB (1ull << 20)
#define GIB (1ull << 30)

static void test_small_file_system_keeps_its_last_quarter(void **state)
{
	(void)state;
	assert_false(hk_writer_crowds(64 * MIB, 64 * MIB, MIB));
	assert_false(hk_writer_crowds(17 * MIB, 64 * MIB, MIB));
	assert_true(hk_writer_crowds(17 * MIB - 1, 64 * MIB, MIB));
	assert_true(hk_writer_crowds(0, 64 * MIB, MIB));
	assert_true(hk_writer_crowds(0, 0, MIB));
}

/* A disk that is four fifths full, or whose owner keeps most of it for himself, has room enough. */
static void test_large_file_system_keeps_a_gibibyte(void **state)
{
	(void)state;
	assert_false(hk_writer_crowds(50 * GIB, 252 * GIB, MIB));
	assert_false(hk_writer_crowds(GIB + MIB, 252 * GIB, MIB));
	assert_true(hk_writer_crowds(GIB, 252 * GIB, MIB));
	assert_false(hk_writer_crowds(GIB + MIB, UINT64_MAX, MIB));
}

#define BLOCKS 256u

struct fixture {
	char directory[64];
	uint32_t pool_room[2 * BLOCKS];
	struct hk_writer writer;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct hk_segment_header template = {.uid = {1}};
	strcpy(fixture->directory, "/tmp/hk-writer-XXXXXX");
	assert_non_null(mkdtemp(fixture->directory));
	assert_int_equal(hk_writer_create(&fixture->writer, fixture->directory, &template, BLOCKS,
					  fixture->pool_room),
			 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;
	unlink(fixture->writer.path);
	rmdir(fixture->directory);
	free(fixture);
	return 0;
}

/* So many pages for calls, then for memory records, then cells, until there is no room. */
static void take_all(struct hk_writer *writer, uint32_t *ret_pages, uint32_t *ret_cells)
{
	*ret_pages = *ret_cells = 0;
	while (hk_writer_page(writer, 0, HK_STREAM_CALLS, 0, 1, 1) ||
	       hk_writer_page(writer, 0, HK_STREAM_MEMORY, 0, 1, 1)) {
		++*ret_pages;
	}
	while (hk_writer_cell(writer)) {
		++*ret_cells;
	}
}

/* Cells have the quarter of the file that no page may take, whatever length the file stays at. */
static void fixed_file_keeps_a_quarter_for_cells(void **state)
{
	struct hk_writer *writer = &((struct fixture *)*state)->writer;
	uint32_t pages, cells;
	hk_writer_reserve(writer, MIB);
	hk_writer_fix(writer, true);
	assert_int_equal(writer->file_blocks, 64);
	assert_int_equal(writer->header->blocks_limit, 64);
	take_all(writer, &pages, &cells);
	assert_int_equal(pages, 64 / 2 + 64 / 4);
	/* Without the header's block. */
	assert_int_equal(cells, (64 / 4 - 1) * ((HK_BLOCK_BYTES - 64) / sizeof(struct hk_cell)));
}

static void cut_file_takes_no_more_than_its_mapping(void **state)
{
	struct hk_writer *writer = &((struct fixture *)*state)->writer;
	uint32_t pages, cells;
	hk_writer_reserve(writer, 2 * MIB);
	hk_writer_cut(writer, MIB / 2);
	hk_writer_fix(writer, false);
	assert_int_equal(writer->header->blocks_limit, 32);
	take_all(writer, &pages, &cells);
	assert_int_equal(pages, 32 / 2 + 32 / 4);
	assert_true(cells > 0);
	/* What exists is never cut off. */
	hk_writer_cut(writer, 0);
	assert_int_equal(writer->mapped_blocks, 32);
	assert_int_equal(writer->header->magic, HK_SEGMENT_MAGIC);
}

static void removed_file_cannot_be_opened(void **state)
{
	struct hk_writer *writer = &((struct fixture *)*state)->writer;
	assert_true(hk_writer_can_open(writer));
	unlink(writer->path);
	assert_false(hk_writer_can_open(writer));
}

int main(void)
{
#define WRITER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_small_file_system_keeps_its_last_quarter),
	    cmocka_unit_test(test_large_file_system_keeps_a_gibibyte),
	    WRITER_TEST(fixed_file_keeps_a_quarter_for_cells),
	    WRITER_TEST(cut_file_takes_no_more_than_its_mapping),
	    WRITER_TEST(removed_file_cannot_be_opened),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
