/* Sums that could overflow, and histograms that overlap in part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/model/numbers.h"
#include "snapshot_maker.h"

static void test_sums_stick_at_the_top(void **state)
{
	struct maker maker;
	struct hk_report_numbers numbers = {0};
	(void)state;
	maker_init(&maker);
	struct maker_process *process = maker_process(&maker, 0, HK__ROLE__ROLE_MAIN, 1, 2);
	Hk__Cell *cell = maker_cell(process, "mpi", "f", "l", HK_LEVEL_SAMPLE);
	maker_call(cell, 10);
	cell->calls = cell->total_ns = cell->bytes = UINT64_MAX;
	cell->bucket_count[0] = UINT64_MAX - 1;
	struct hk_columns_row row = maker_row(cell);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(hk_report_numbers_add_cell(&numbers, &row, &process->sites[0]), 0);
	}
	hk_report_numbers_finish(&numbers);
	assert_true(numbers.calls == UINT64_MAX && numbers.total_ns == UINT64_MAX &&
		    numbers.bytes == UINT64_MAX);
	assert_int_equal(numbers.p50_ns, 10);
	hk_report_numbers_fini(&numbers);
	maker_fini(&maker);
}

static void test_adding_rows_equals_adding_cells(void **state)
{
	struct maker maker;
	struct hk_report_numbers direct = {0}, rows = {0};
	(void)state;
	maker_init(&maker);
	struct maker_process *process = maker_process(&maker, 0, HK__ROLE__ROLE_MAIN, 1, 2);
	for (uint64_t i = 0; i < 8; i++) {
		struct hk_report_numbers one = {0};
		Hk__Cell *cell = maker_cell(process, "mpi", "f", "l", HK_LEVEL_TIME);
		for (uint64_t k = 0; k < 50; k++) {
			maker_call(cell, i * 37 + k * k * (i % 3 + 1));
		}
		const Hk__Site *site = &process->sites[i];
		struct hk_columns_row row = maker_row(cell);
		assert_int_equal(hk_report_numbers_add_cell(&direct, &row, site), 0);
		assert_int_equal(hk_report_numbers_add_cell(&one, &row, site), 0);
		assert_int_equal(hk_report_numbers_add(&rows, &one), 0);
		hk_report_numbers_fini(&one);
	}
	hk_report_numbers_finish(&direct);
	hk_report_numbers_finish(&rows);
	assert_int_equal(rows.calls, 400);
	assert_int_equal(rows.buckets.used, direct.buckets.used);
	assert_memory_equal(rows.buckets.index, direct.buckets.index,
			    rows.buckets.used * sizeof(*rows.buckets.index));
	assert_memory_equal(rows.buckets.count, direct.buckets.count,
			    rows.buckets.used * sizeof(*rows.buckets.count));
	assert_true(rows.min_ns == direct.min_ns && rows.max_ns == direct.max_ns &&
		    rows.p99_ns == direct.p99_ns && rows.mean_ns == direct.mean_ns);
	hk_report_numbers_fini(&direct);
	hk_report_numbers_fini(&rows);
	maker_fini(&maker);
}

static void test_bytes_need_a_level(void **state)
{
	struct maker maker;
	struct hk_report_numbers with = {0}, without = {0};
	uint32_t keys[] = {HK_KEY_PEER, HK_KEY_BYTES};
	(void)state;
	maker_init(&maker);
	struct maker_process *process = maker_process(&maker, 0, HK__ROLE__ROLE_MAIN, 1, 2);
	Hk__Cell *cell = maker_cell(process, "mpi", "f", "l", HK_LEVEL_COUNT);
	cell->calls = 1;
	struct hk_columns_row row = maker_row(cell);
	assert_int_equal(hk_report_numbers_add_cell(&without, &row, &process->sites[0]), 0);
	process->sites[0].keys = keys;
	process->sites[0].n_keys = 2;
	assert_int_equal(hk_report_numbers_add_cell(&with, &row, &process->sites[0]), 0);
	/* A call that moves no bytes moves 0; one that does was not asked at this level. */
	assert_true(without.have_bytes);
	assert_false(with.have_bytes);
	maker_fini(&maker);
}

/* Two slow calls at level time, then 100 quick ones of which two were timed. */
static void test_samples_stand_for_calls_not_timed(void **state)
{
	struct maker maker;
	(void)state;
	maker_init(&maker);
	struct maker_process *process = maker_process(&maker, 0, HK__ROLE__ROLE_MAIN, 1, 2);
	Hk__Cell *cell = maker_cell(process, "mpi", "f", "l", HK_LEVEL_SAMPLE);
	maker_call(cell, 1000000);
	maker_call(cell, 1000000);
	for (int i = 0; i < 64; i++) { /* a sample counts as 64 calls */
		maker_call(cell, 10);
		maker_call(cell, 30);
	}
	cell->calls = 102;
	cell->total_ns = cell->self_ns = cell->outermost_ns = 2000000 + 40;
	cell->bytes = 2 * 4096 + 2 * 8;
	struct hk_columns_row row = maker_row(cell);
	row.sampled = 2;
	row.sampled_ns = row.sampled_self_ns = row.sampled_outermost_ns = 40;
	row.sampled_bytes = 2 * 8;
	for (uint32_t level = HK_LEVEL_COUNT; level <= HK_LEVEL_TIME; level++) {
		struct hk_report_numbers numbers = {0};
		process->sites[0].level = level; /* whatever it is by now */
		assert_int_equal(hk_report_numbers_add_cell(&numbers, &row, &process->sites[0]), 0);
		assert_int_equal(numbers.total_ns, 2000000 + 100 * 20);
		assert_int_equal(numbers.self_ns, 2000000 + 100 * 20);
		assert_int_equal(numbers.outermost_ns, 2000000 + 100 * 20);
		assert_int_equal(numbers.bytes, 2 * 4096 + 100 * 8);
		assert_true(numbers.estimated);
		assert_int_equal(numbers.timed, 4);
		hk_report_numbers_finish(&numbers);
		assert_int_equal(numbers.p90_ns, 30);
		assert_int_equal(numbers.mean_ns, (2000000 + 64 * 40) / (2 + 64 * 2));
		hk_report_numbers_fini(&numbers);
	}
	maker_fini(&maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sums_stick_at_the_top),
	    cmocka_unit_test(test_adding_rows_equals_adding_cells),
	    cmocka_unit_test(test_bytes_need_a_level),
	    cmocka_unit_test(test_samples_stand_for_calls_not_timed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
