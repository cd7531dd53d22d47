/* Changes of level in seeded models whose truth is known: noise of several kinds without a change,
 * with one, and with one that goes back. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cli/steps/changes.h"

#define DRAWS 1000
#define FEWER_DRAWS 200
#define STEPS 240
#define ALARMS_MOST 5 /* in DRAWS */
#define APART_MOST 8

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

/* How the durations of steps vary, as shares of a step. */
struct model {
	const char *name;
	double deviation, logarithmic;
	double tail; /* scale of a Pareto tail with an infinite variance */
	double drift;
	double wave, wave_steps;
	double memory;	      /* how much of its deviation a step inherits from the one before */
	unsigned spike_steps; /* each so manieth step takes five times as long */
	double found;	      /* part of the changes of a third that are found at least */
};

static const struct model models[] = {
    {.name = "normal", .deviation = 0.05, .found = 0.95},
    {.name = "much", .deviation = 0.3},
    {.name = "lognormal", .logarithmic = 0.2, .found = 0.7},
    {.name = "heavy tails", .deviation = 0.02, .tail = 0.05, .found = 0.95},
    {.name = "slow drift", .deviation = 0.03, .drift = 0.2, .found = 0.95},
    {.name = "fast drift", .deviation = 0.03, .drift = 1},
    {.name = "waves", .deviation = 0.03, .wave = 0.2, .wave_steps = 20},
    {.name = "short waves", .deviation = 0.03, .wave = 0.1, .wave_steps = 7, .found = 0.95},
    {.name = "a long wave", .deviation = 0.03, .wave = 0.2, .wave_steps = 240},
    {.name = "alike neighbours", .deviation = 0.03, .memory = 0.7, .found = 0.7},
    {.name = "very alike neighbours", .deviation = 0.03, .memory = 0.95},
    {.name = "spikes", .deviation = 0.03, .spike_steps = 10, .found = 0.95},
};
#define MODELS (sizeof(models) / sizeof(models[0]))

/* A level that is FACTOR times as high in [FROM, TO). */
struct truth {
	size_t from, to;
	double factor;
};

static void draw(const struct model *model, const struct truth *truth, double values[STEPS])
{
	double inherited = 0;
	for (size_t i = 0; i < STEPS; i++) {
		double level = i >= truth->from && i < truth->to ? truth->factor : 1;
		inherited = model->memory * inherited + model->deviation * normal();
		double value = 1 + inherited + model->drift * (double)i / STEPS;
		if (model->wave > 0) {
			value += model->wave * sin(2 * M_PI * (double)i / model->wave_steps);
		}
		if (model->tail > 0) {
			value += model->tail * (pow(1 - uniform(), -1 / 1.5) - 1);
		}
		value *= exp(model->logarithmic * normal());
		value *= model->spike_steps > 0 && i % model->spike_steps == 3 ? 5 : 1;
		values[i] = level * fmax(value, 0.01) * 1e6;
	}
}

static void no_change_is_found_in_noise(void **state)
{
	const struct truth none = {0};
	double values[STEPS];
	(void)state;
	for (size_t m = 0; m < MODELS; m++) {
		int alarms = 0;
		state_of_chance = 20 + m;
		for (int i = 0; i < DRAWS; i++) {
			struct hk_changes changes;
			draw(&models[m], &none, values);
			assert_int_equal(hk_changes_find(values, STEPS, 1, &changes), 0);
			alarms += changes.count > 0;
		}
		print_message("%s: %d alarms in %d\n", models[m].name, alarms, DRAWS);
		assert_in_range(alarms, 0, ALARMS_MOST);
	}
}

static bool is_near(size_t x, size_t y)
{
	return x < y ? y - x <= APART_MOST : x - y <= APART_MOST;
}

static void change_is_found_near_its_step(void **state)
{
	double values[STEPS];
	(void)state;
	for (size_t m = 0; m < MODELS; m++) {
		int found = 0;
		state_of_chance = 50 + m;
		for (int i = 0; i < FEWER_DRAWS; i++) {
			const struct truth truth = {
			    (size_t)(STEPS / 8 + uniform() * (3. / 4) * STEPS), STEPS, 1.33};
			struct hk_changes changes;
			draw(&models[m], &truth, values);
			assert_int_equal(hk_changes_find(values, STEPS, 65, &changes), 0);
			found += changes.count >= 1 && is_near(changes.list[0].at, truth.from) &&
				 changes.list[0].after > 1.15 * changes.list[0].before;
		}
		print_message("%s: %d of %d found\n", models[m].name, found, FEWER_DRAWS);
		assert_true(found >= models[m].found * FEWER_DRAWS);
	}
}

static void change_back_hides_no_change(void **state)
{
	double values[STEPS];
	(void)state;
	for (size_t m = 0; m < MODELS; m++) {
		int found = 0;
		state_of_chance = 80 + m;
		for (int i = 0; i < FEWER_DRAWS; i++) {
			size_t from = (size_t)(STEPS / 8 + uniform() * STEPS / 4);
			const struct truth truth = {from, from + STEPS / 4, 1.5};
			struct hk_changes changes;
			draw(&models[m], &truth, values);
			assert_int_equal(hk_changes_find(values, STEPS, 1, &changes), 0);
			found += changes.count >= 2 && is_near(changes.list[0].at, truth.from) &&
				 is_near(changes.list[1].at, truth.to);
		}
		print_message("%s: %d of %d found\n", models[m].name, found, FEWER_DRAWS);
		assert_true(found >= models[m].found * FEWER_DRAWS);
	}
}

static void levels_are_the_medians_beside_the_change(void **state)
{
	double values[40];
	struct hk_changes changes;
	(void)state;
	for (size_t i = 0; i < 40; i++) {
		values[i] = (i < 24 ? 100 : 200) + (double)(i * 7 % 5);
	}
	assert_int_equal(hk_changes_find(values, 40, 1, &changes), 0);
	assert_int_equal(changes.count, 1);
	assert_int_equal(changes.list[0].from, 0);
	assert_int_equal(changes.list[0].at, 24);
	assert_int_equal(changes.list[0].to, 40);
	assert_true(changes.list[0].before == 102 && changes.list[0].after == 202);
	assert_true(changes.list[0].chance < 1e-6);
}

static void small_or_short_changes_do_not_count(void **state)
{
	double values[60];
	struct hk_changes changes;
	(void)state;
	for (size_t i = 0; i < 60; i++) {
		values[i] = (i < 30 ? 1000 : 1040) + (double)(i * 7 % 5);
	}
	assert_int_equal(hk_changes_find(values, 60, 1, &changes), 0);
	assert_int_equal(changes.count, 0);
	for (size_t i = 0; i < 60; i++) {
		values[i] = (i < 56 ? 1000 : 2000) + (double)(i * 7 % 5);
	}
	assert_int_equal(hk_changes_find(values, 60, 1, &changes), 0);
	assert_int_equal(changes.count, 0);
}

static void few_or_equal_values_have_no_change(void **state)
{
	double values[100];
	struct hk_changes changes;
	(void)state;
	for (size_t i = 0; i < 100; i++) {
		values[i] = 5;
	}
	for (size_t count = 0; count <= 100; count++) {
		assert_int_equal(hk_changes_find(values, count, 1, &changes), 0);
		assert_int_equal(changes.count, 0);
	}
}

static void there_are_at_most_four_changes(void **state)
{
	double values[STEPS];
	struct hk_changes changes;
	(void)state;
	for (size_t i = 0; i < STEPS; i++) {
		values[i] = (i / 40 % 2 ? 150 : 100) + (double)(i * 7 % 5);
	}
	assert_int_equal(hk_changes_find(values, STEPS, 1, &changes), 0);
	assert_in_range(changes.count, 1, HK_CHANGES_MOST);
	for (size_t i = 0; i < changes.count; i++) {
		assert_true(changes.list[i].from < changes.list[i].at &&
			    changes.list[i].at < changes.list[i].to);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(no_change_is_found_in_noise),
	    cmocka_unit_test(change_is_found_near_its_step),
	    cmocka_unit_test(change_back_hides_no_change),
	    cmocka_unit_test(levels_are_the_medians_beside_the_change),
	    cmocka_unit_test(small_or_short_changes_do_not_count),
	    cmocka_unit_test(few_or_equal_values_have_no_change),
	    cmocka_unit_test(there_are_at_most_four_changes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
