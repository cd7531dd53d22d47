/* The test against chance on models of jobs whose truth is known: seeded noise of several kinds on
 * equal ranks, and the same with one rank that has a tenth more to do. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "report/findings/late.h"

#define DRAWS 1000
#define STEPS 64 /* of a batch */
#define RANKS_MAX 8

static uint64_t state_of_chance;

/* xorshift64*, 0 to 1. */
static double uniform(void)
{
	state_of_chance ^= state_of_chance >> 12;
	state_of_chance ^= state_of_chance << 25;
	state_of_chance ^= state_of_chance >> 27;
	return (double)((state_of_chance * UINT64_C(0x2545f4914f6cdd1d)) >> 11) /
	       9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(2 * M_PI * uniform());
}

/* What makes equal ranks differ: shares of a step's work. */
struct model {
	const char *name;
	double step;		    /* deviation of a step */
	double memory;		    /* how much of it a step inherits from the one before */
	double burst, burst_chance; /* something else ran for the rank, exponential */
	double phase, phase_steps;  /* the rank is slowed for a while, and then it is not */
	double common;		    /* all ranks are slowed alike in a batch */
	double edge; /* of a step: the ranks' batches do not begin with the same one */
};

static const struct model models[] = {
    {"every step varies a little", 0.05, 0, 0, 0, 0, 0, 0, 0.5},
    {"every step varies much", 0.2, 0, 0, 0, 0, 0, 0, 0.5},
    {"steps are like their neighbours", 0.03, 0.97, 0, 0, 0, 0, 0, 0.5},
    {"now and then something else runs", 0.05, 0, 2, 0.002, 0, 0, 0, 0.5},
    {"ranks are slowed for phases", 0.05, 0, 0, 0, 0.1, 20, 0, 0.5},
    {"the machine is slowed for phases", 0.05, 0, 0, 0, 0, 0, 0.8, 0.5},
};
#define MODELS (sizeof(models) / sizeof(models[0]))

static void draw_rank(const struct model *model, double slow, const double *common, double *work)
{
	double inherited = 0;
	bool slowed = uniform() < 0.5;

	for (size_t batch = 0; batch < HK_LATE_BATCHES; batch++) {
		double sum = model->edge * (uniform() - 0.5);
		for (size_t step = 0; step < STEPS; step++) {
			inherited = model->memory * inherited +
				    sqrt(1 - model->memory * model->memory) * normal();
			double one = 1 + model->step * inherited;
			one -=
			    uniform() < model->burst_chance ? model->burst * log(1 - uniform()) : 0;
			slowed ^= model->phase_steps > 0 && uniform() < 1 / model->phase_steps;
			one += slowed ? model->phase : 0;
			sum += one > 0 ? one : 0;
		}
		work[batch] = sum * slow * common[batch];
	}
}

/* Of DRAWS jobs, in how many a rank is late, and in how many that is rank LATE. */
static void draw(const struct model *model, size_t ranks, size_t late, double slow,
		 unsigned *ret_any, unsigned *ret_right)
{
	double work[RANKS_MAX * HK_LATE_BATCHES], common[HK_LATE_BATCHES];
	struct hk_late found;

	*ret_any = *ret_right = 0;
	for (unsigned i = 0; i < DRAWS; i++) {
		for (size_t k = 0; k < HK_LATE_BATCHES; k++) {
			common[k] = 1 + model->common * uniform();
		}
		for (size_t k = 0; k < ranks; k++) {
			draw_rank(model, k == late ? slow : 1, common, work + k * HK_LATE_BATCHES);
		}
		int r = hk_late_find(work, ranks, &found);
		assert_true(r >= 0);
		*ret_any += r > 0;
		*ret_right += r > 0 && found.rank == late && fabs(found.excess - (slow - 1)) < 0.05;
	}
}

static void each(void (*check)(const struct model *model, size_t ranks))
{
	static const size_t sizes[] = {2, 3, RANKS_MAX};

	state_of_chance = UINT64_C(0x9e3779b97f4a7c15);
	for (size_t i = 0; i < MODELS; i++) {
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			check(&models[i], sizes[k]);
		}
	}
}

static void check_equal(const struct model *model, size_t ranks)
{
	unsigned any, right;

	draw(model, ranks, ranks, 1, &any, &right);
	print_message("%s, %zu equal ranks: %u of %d have a late one\n", model->name, ranks, any,
		      DRAWS);
	assert_true(any < DRAWS / 100);
}

static void test_equal_ranks_are_not_blamed(void **state)
{
	(void)state;
	each(check_equal);
}

static void check_slow(const struct model *model, size_t ranks)
{
	unsigned any, right;

	draw(model, ranks, 1, 1.1, &any, &right);
	print_message("%s, rank 1 of %zu is slow: named in %u of %d\n", model->name, ranks, right,
		      DRAWS);
	assert_true(right > DRAWS - DRAWS / 100);
}

static void test_a_rank_with_a_tenth_more_to_do_is_named(void **state)
{
	(void)state;
	each(check_slow);
}

static void test_one_long_delay_is_not_being_late(void **state)
{
	double work[2 * HK_LATE_BATCHES];
	struct hk_late late;
	(void)state;

	for (size_t i = 0; i < 2 * HK_LATE_BATCHES; i++) {
		work[i] = 100;
	}
	work[HK_LATE_BATCHES + 3] = 1000;
	assert_int_equal(hk_late_find(work, 2, &late), 0);
}

/* 6 % above the other one with a standard error of 1.95: not chance, but it may be as little as 2.1
 * %. */
static void test_a_small_excess_must_be_certain(void **state)
{
	double work[2 * HK_LATE_BATCHES];
	struct hk_late late;
	(void)state;

	for (size_t i = 0; i < HK_LATE_BATCHES; i++) {
		work[i] = 100;
		work[HK_LATE_BATCHES + i] = i % 4 ? 110.36 : 92.92;
	}
	assert_int_equal(hk_late_find(work, 2, &late), 0);
	for (size_t i = 0; i < HK_LATE_BATCHES; i++) {
		work[HK_LATE_BATCHES + i] += 2;
	}
	assert_int_equal(hk_late_find(work, 2, &late), 1);
}

static void test_ranks_without_work_are_no_others(void **state)
{
	double work[2 * HK_LATE_BATCHES] = {5, 5, 5};
	struct hk_late late;
	(void)state;

	assert_int_equal(hk_late_find(work, 2, &late), 0);
	assert_int_equal(hk_late_find(work, 1, &late), 0);
	assert_int_equal(hk_late_find(work, 0, &late), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_equal_ranks_are_not_blamed),
	    cmocka_unit_test(test_a_rank_with_a_tenth_more_to_do_is_named),
	    cmocka_unit_test(test_one_long_delay_is_not_being_late),
	    cmocka_unit_test(test_a_small_excess_must_be_certain),
	    cmocka_unit_test(test_ranks_without_work_are_no_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
