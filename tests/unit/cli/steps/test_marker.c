/* What is taken as the steps of a job, and how steps are kept in bins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/steps/marker.h"

#define RANKS 2
#define MS 1000000u

static const struct hk_marker reduce = {
    .kind = HK_MARKER_COLLECTIVE, .name = "MPI_Allreduce", .comm = 1, .bytes = 8};
static const struct hk_marker gather = {
    .kind = HK_MARKER_COLLECTIVE, .name = "MPI_Gather", .comm = 1, .bytes = 64};
static const struct hk_marker marked = {.kind = HK_MARKER_STEP};
static const struct hk_marker range = {.kind = HK_MARKER_RANGE, .name = "step"};
static const double span_ns[RANKS] = {100. * 10 * MS, 100. * 10 * MS};

static void begin(struct hk_markers *markers, const struct hk_marker *marker, size_t rank,
		  uint64_t ms)
{
	const struct hk_marker_event event = {rank, ms * MS, 0};
	assert_int_equal(hk_markers_begin(markers, marker, &event), 0);
}

/* All ranks begin COUNT steps of MARKER, each MS long. */
static void fill(struct hk_markers *markers, const struct hk_marker *marker, unsigned count,
		 unsigned ms)
{
	for (unsigned i = 0; i <= count; i++) {
		for (size_t rank = 0; rank < RANKS; rank++) {
			begin(markers, marker, rank, 1 + i * ms);
		}
	}
}

static void expect_chosen(struct hk_markers *markers, const struct hk_marker *marker)
{
	const struct hk_candidate *candidate = hk_markers_choose(markers, span_ns);
	if (marker) {
		assert_non_null(candidate);
		assert_int_equal(candidate->marker.kind, marker->kind);
		assert_ptr_equal(candidate->marker.name, marker->name);
	} else {
		assert_null(candidate);
	}
	hk_markers_fini(markers);
}

static void marked_steps_come_before_ranges_and_collectives(void **state)
{
	struct hk_markers markers = {.ranks = RANKS};
	(void)state;
	fill(&markers, &reduce, 100, 10);
	fill(&markers, &range, 20, 50);
	fill(&markers, &marked, 20, 50);
	expect_chosen(&markers, &marked);
	markers = (struct hk_markers){.ranks = RANKS};
	fill(&markers, &reduce, 100, 10);
	fill(&markers, &range, 20, 50);
	expect_chosen(&markers, &range);
}

static void few_marked_steps_are_not_taken(void **state)
{
	struct hk_markers markers = {.ranks = RANKS};
	(void)state;
	fill(&markers, &marked, HK_STEPS_LEAST - 1, 50);
	fill(&markers, &reduce, 100, 10);
	expect_chosen(&markers, &reduce);
}

static void collective_of_one_rank_is_not_taken(void **state)
{
	struct hk_markers markers = {.ranks = RANKS};
	(void)state;
	for (unsigned i = 0; i <= 100; i++) {
		begin(&markers, &reduce, 0, 1 + i * 10);
	}
	expect_chosen(&markers, NULL);
}

static void collective_at_the_start_is_not_taken(void **state)
{
	struct hk_markers markers = {.ranks = RANKS};
	(void)state;
	fill(&markers, &reduce, 100, 1);
	expect_chosen(&markers, NULL);
}

static void most_regular_collective_is_taken(void **state)
{
	struct hk_markers markers = {.ranks = RANKS};
	(void)state;
	for (unsigned i = 0; i <= 100; i++) {
		for (size_t rank = 0; rank < RANKS; rank++) {
			begin(&markers, &reduce, rank, 1 + i * 10 + i % 2 * 5);
			begin(&markers, &gather, rank, 3 + i * 10);
		}
	}
	expect_chosen(&markers, &gather);
}

static void many_steps_come_before_few(void **state)
{
	struct hk_markers markers = {.ranks = RANKS};
	(void)state;
	fill(&markers, &gather, 20, 50);
	for (unsigned i = 0; i <= 100; i++) {
		for (size_t rank = 0; rank < RANKS; rank++) {
			begin(&markers, &reduce, rank, 1 + i * 10 + i % 3);
		}
	}
	expect_chosen(&markers, &reduce);
}

static void loop_is_found_behind_many_other_collectives(void **state)
{
	struct hk_markers markers = {.ranks = RANKS};
	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		struct hk_marker other = reduce;
		other.bytes = 1000 + i;
		begin(&markers, &other, i % RANKS, 1);
	}
	fill(&markers, &reduce, 100, 10);
	expect_chosen(&markers, &reduce);
}

static void own_time_is_without_waits(void **state)
{
	struct hk_markers markers = {.ranks = 1};
	(void)state;
	for (uint64_t i = 0; i <= 20; i++) {
		const struct hk_marker_event event = {0, (1 + i * 10) * MS, (double)(i * 3 * MS)};
		assert_int_equal(hk_markers_begin(&markers, &marked, &event), 0);
	}
	const struct hk_candidate *candidate = hk_markers_choose(&markers, span_ns);
	assert_non_null(candidate);
	const struct hk_step_series *series = &candidate->lanes[0].series;
	assert_int_equal(series->count, 20);
	for (size_t i = 0; i < series->count; i++) {
		assert_true(series->bins[i].duration_ns == 10. * MS);
		assert_true(series->bins[i].own_ns == 7. * MS);
	}
	hk_markers_fini(&markers);
}

static void full_bins_are_merged_by_two(void **state)
{
	struct hk_step_series series = {0};
	(void)state;
	for (uint64_t i = 0; i < 5 * HK_STEP_BINS; i++) {
		assert_int_equal(hk_step_series_add(&series, i, 2, 1), 0);
	}
	assert_int_equal(series.width, 8);
	assert_int_equal(series.steps, 5 * HK_STEP_BINS);
	assert_int_equal(series.count, 5 * HK_STEP_BINS / 8);
	for (size_t i = 0; i < series.count; i++) {
		assert_int_equal(series.bins[i].begin_ns, 8 * i);
		assert_int_equal(series.bins[i].steps, 8);
		assert_true(series.bins[i].duration_ns == 16 && series.bins[i].own_ns == 8);
	}
	hk_step_series_widen(&series, 32);
	assert_int_equal(series.count, 5 * HK_STEP_BINS / 32);
	assert_int_equal(series.bins[1].begin_ns, 32);
	hk_step_series_fini(&series);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(marked_steps_come_before_ranges_and_collectives),
	    cmocka_unit_test(few_marked_steps_are_not_taken),
	    cmocka_unit_test(collective_of_one_rank_is_not_taken),
	    cmocka_unit_test(collective_at_the_start_is_not_taken),
	    cmocka_unit_test(most_regular_collective_is_taken),
	    cmocka_unit_test(many_steps_come_before_few),
	    cmocka_unit_test(loop_is_found_behind_many_other_collectives),
	    cmocka_unit_test(own_time_is_without_waits),
	    cmocka_unit_test(full_bins_are_merged_by_two),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
