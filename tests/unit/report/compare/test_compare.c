/* Two jobs compared, against distributions and differences that are known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "report/build/build.h"
#include "report/compare/compare.h"
#include "snapshot_maker.h"

struct pair {
	struct maker a, b;
	struct hk_report *of_a, *of_b;
	struct hk_compare compare;
};

static void pair_compare(struct pair *pair)
{
	assert_int_equal(hk_report_new(maker_snapshot(&pair->a), &pair->of_a), 0);
	assert_int_equal(hk_report_new(maker_snapshot(&pair->b), &pair->of_b), 0);
	assert_int_equal(hk_compare_init(&pair->compare, pair->of_a, pair->of_b), 0);
}

static void pair_fini(struct pair *pair)
{
	hk_compare_fini(&pair->compare);
	hk_report_free(pair->of_a);
	hk_report_free(pair->of_b);
	maker_fini(&pair->a);
	maker_fini(&pair->b);
}

static void pair_init(struct pair *pair)
{
	maker_init(&pair->a);
	maker_init(&pair->b);
}

static Hk__Cell *cell_of(struct maker *maker, int rank, const char *function)
{
	struct maker_process *process = maker_process(maker, rank, HK__ROLE__ROLE_MAIN, 1000, 2000);

	return maker_cell(process, "mpi", function, "a", HK_LEVEL_TIME);
}

static uint64_t seed;

static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return ((double)(seed >> 11) + 1) / 9007199254740993.0;
}

/* Latencies with a long tail: 10 us and an exponential of mean 20 us, times FACTOR. */
static void calls(Hk__Cell *cell, size_t count, double factor)
{
	for (size_t i = 0; i < count; i++) {
		maker_call(cell, (uint64_t)(factor * (10e3 - 20e3 * log(uniform()))));
	}
}

static const struct hk_compare_row *row_of(const struct pair *pair, const char *function)
{
	for (size_t i = 0; i < pair->compare.row_count; i++) {
		if (strcmp(pair->compare.rows[i].function, function) == 0) {
			return &pair->compare.rows[i];
		}
	}
	fail_msg("no row of %s", function);
	return NULL;
}

static void test_exact_figures_change_by_what_they_changed(void **state)
{
	struct pair pair;
	(void)state;
	pair_init(&pair);
	struct maker_process *before = maker_process(&pair.a, 0, HK__ROLE__ROLE_MAIN, 1000, 3000);
	struct maker_process *after = maker_process(&pair.b, 0, HK__ROLE__ROLE_MAIN, 500, 4500);
	Hk__Cell *same_before = maker_cell(before, "mpi", "MPI_Send", "a", HK_LEVEL_TIME);
	Hk__Cell *same_after = maker_cell(after, "mpi", "MPI_Send", "b", HK_LEVEL_TIME);
	maker_call(maker_cell(before, "libc", "gone", "a", HK_LEVEL_TIME), 5000);
	maker_call(maker_cell(after, "libc", "new", "a", HK_LEVEL_TIME), 70);
	for (int i = 0; i < 4; i++) {
		maker_call(same_before, 100);
		maker_call(same_after, 200);
	}
	maker_call(same_after, 200);
	pair_compare(&pair);

	assert_int_equal(pair.compare.row_count, 3);
	assert_string_equal(pair.compare.rows[0].function, "gone");
	const struct hk_compare_row *row = row_of(&pair, "MPI_Send");
	const struct hk_compared *figure = &row->figure[HK_COMPARE_CALLS];
	assert_true(figure->a == 4 && figure->b == 5);
	assert_true(figure->change.ratio == 0.25 && figure->change.low == 0.25);
	assert_true(hk_change_significant(&figure->change));
	assert_true(row->figure[HK_COMPARE_TOTAL].change.ratio == 1.5);
	assert_true(row->figure[HK_COMPARE_P50].change.ratio == 1.0);
	assert_true(row->figure[HK_COMPARE_ERRORS].change.ratio == 0);

	row = row_of(&pair, "gone");
	assert_true(row->in_a && !row->in_b);
	assert_true(row->figure[HK_COMPARE_CALLS].change.ratio == -1);
	assert_true(row->figure[HK_COMPARE_TOTAL].b == 0);
	assert_true(isnan(row->figure[HK_COMPARE_P50].b));
	assert_true(isnan(row->figure[HK_COMPARE_P50].change.ratio));
	row = row_of(&pair, "new");
	assert_true(!row->in_a && row->in_b);
	assert_true(isinf(row->figure[HK_COMPARE_CALLS].change.ratio));

	assert_true(pair.compare.wall.a == 2000 && pair.compare.wall.b == 4000);
	assert_true(!hk_change_significant(&pair.compare.wall.change));
	pair_fini(&pair);
}

static void test_memory_compares_the_highest_ranks(void **state)
{
	static const uint64_t peaks[2][2] = {{100, 300}, {450, 200}};
	struct pair pair;
	(void)state;
	pair_init(&pair);
	for (int rank = 0; rank < 2; rank++) {
		maker_memory(maker_process(&pair.a, rank, HK__ROLE__ROLE_MAIN, 1000, 2000), "heap",
			     "*", peaks[0][rank]);
		Hk__Memory *range =
		    maker_memory(maker_process(&pair.b, rank, HK__ROLE__ROLE_MAIN, 1000, 2000),
				 "heap", "*", peaks[1][rank]);
		range->peak_low = range->peak_bytes - 180;
	}
	pair_compare(&pair);
	assert_int_equal(pair.compare.memory_count, 1);
	const struct hk_compared *peak = &pair.compare.memory[0].peak;
	assert_true(peak->a == 300 && peak->b == 450 && peak->change.ratio == 0.5);
	assert_true(fabs(peak->change.low + 0.1) < 1e-9 && peak->change.high == 0.5);
	assert_false(hk_change_significant(&peak->change));
	pair_fini(&pair);
}

/* How often of 100 pairs of jobs FIGURE changed significantly where B is FACTOR times as slow. */
static int significant(enum hk_compare_figure figure, double factor, size_t count)
{
	int found = 0;

	for (int i = 0; i < 100; i++) {
		struct pair pair;
		pair_init(&pair);
		calls(cell_of(&pair.a, 0, "f"), count, 1);
		calls(cell_of(&pair.b, 0, "f"), count, factor);
		pair_compare(&pair);
		found += hk_change_significant(&row_of(&pair, "f")->figure[figure].change);
		pair_fini(&pair);
	}
	return found;
}

static void test_noise_is_seldom_significant_and_a_slowdown_is(void **state)
{
	(void)state;
	seed = 1;
	for (enum hk_compare_figure figure = HK_COMPARE_TOTAL; figure < HK_COMPARE_FIGURES;
	     figure++) {
		/* 5 % of 100 are 5; more than 13 would be seen once in 1,000 tests. */
		assert_in_range(significant(figure, 1, 1500), 0, 13);
		assert_in_range(significant(figure, 1.6, 1500), 95, 100);
	}
}

static void test_few_calls_have_no_upper_end(void **state)
{
	struct pair pair;
	(void)state;
	seed = 2;
	pair_init(&pair);
	calls(cell_of(&pair.a, 0, "f"), 50, 1);
	calls(cell_of(&pair.b, 0, "f"), 50, 100);
	pair_compare(&pair);
	const struct hk_compare_row *row = row_of(&pair, "f");
	assert_true(hk_change_significant(&row->figure[HK_COMPARE_P50].change));
	assert_false(hk_change_significant(&row->figure[HK_COMPARE_P99].change));
	assert_true(isinf(row->figure[HK_COMPARE_P99].change.high));
	pair_fini(&pair);
}

/* STEPS: how many times as slow each rank became. */
static bool ranks_significant(const double steps[4])
{
	struct pair pair;
	bool found;

	seed = 3;
	pair_init(&pair);
	for (int rank = 0; rank < 4; rank++) {
		calls(cell_of(&pair.a, rank, "f"), 2000, rank == 3 ? 20 : 1);
		calls(cell_of(&pair.b, rank, "f"), 2000, steps[rank] * (rank == 3 ? 20 : 1));
	}
	pair_compare(&pair);
	found = hk_change_significant(&row_of(&pair, "f")->figure[HK_COMPARE_MEAN].change);
	pair_fini(&pair);
	return found;
}

static void test_ranks_that_disagree_make_a_change_unsure(void **state)
{
	static const double all[4] = {1.3, 1.31, 1.29, 1.3};
	static const double one[4] = {1.0, 0.9, 0.95, 1.3};
	(void)state;
	/* The slowest rank, 20 times the others, does not hide what all of them have in common. */
	assert_true(ranks_significant(all));
	assert_false(ranks_significant(one));
}

static void test_student_agrees_with_the_tables(void **state)
{
	/* Two-sided 95 %: any statistics textbook. */
	static const struct {
		size_t degrees;
		double value;
	} table[] = {{3, 3.182}, {4, 2.776}, {5, 2.571}, {10, 2.228}, {30, 2.042}, {1000, 1.962}};
	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		double value = hk_compare_student(table[i].degrees);
		assert_true(fabs(value / table[i].value - 1) < 0.02);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_exact_figures_change_by_what_they_changed),
	    cmocka_unit_test(test_memory_compares_the_highest_ranks),
	    cmocka_unit_test(test_noise_is_seldom_significant_and_a_slowdown_is),
	    cmocka_unit_test(test_few_calls_have_no_upper_end),
	    cmocka_unit_test(test_ranks_that_disagree_make_a_change_unsure),
	    cmocka_unit_test(test_student_agrees_with_the_tables),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
