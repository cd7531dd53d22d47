/* Drift of p99: found in durations that grow, and hardly ever in durations that do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "cli/drift/drift_findings.h"

#define CALLS 4000u
#define FUNCTIONS 120u

/* A duration with a long tail: the logarithm is even over a decade, one in fifty is ten times as
 * long. */
static double duration_ns(unsigned *seed)
{
	double share = rand_r(seed) / (double)RAND_MAX;
	return 1000 * pow(10, share) * (rand_r(seed) % 50 == 0 ? 10 : 1);
}

/* Fills LATENCY, whose calls take FACTOR(part) times as long. */
static void fill(struct hk_latency *latency, unsigned seed, double factor(unsigned part))
{
	memset(latency, 0, sizeof(*latency));
	for (unsigned part = 0; part < HK_LATENCY_PARTS; part++) {
		for (unsigned i = 0; i < CALLS; i++) {
			hk_latency_add(&latency->parts[part],
				       (uint64_t)(duration_ns(&seed) * factor(part)));
		}
	}
}

static double flat(unsigned part)
{
	(void)part;
	return 1;
}

static double growing(unsigned part)
{
	return 1 + part;
}

static double falling(unsigned part)
{
	return growing(HK_LATENCY_PARTS - 1 - part);
}

static double once(unsigned part)
{
	return part == HK_LATENCY_PARTS / 2 ? 50 : 1;
}

static double waves(unsigned part)
{
	return 2 + sin(part * 1.5);
}

static unsigned found(double factor(unsigned part))
{
	struct hk_latency *latency = calloc(1, sizeof(*latency));
	struct hk_drift drift;
	unsigned count = 0;

	for (unsigned seed = 1; seed <= FUNCTIONS; seed++) {
		fill(latency, seed, factor);
		count += hk_drift_of(latency, &drift);
	}
	free(latency);
	return count;
}

static void test_only_growth_is_found(void **state)
{
	(void)state;
	assert_int_equal(found(growing), FUNCTIONS);
	assert_int_equal(found(flat), 0);
	assert_int_equal(found(falling), 0);
	assert_int_equal(found(once), 0);
	assert_int_equal(found(waves), 0);
}

static void test_cost_is_what_calls_take_longer(void **state)
{
	struct hk_latency latency = {0};
	struct hk_drift drift;

	(void)state;
	for (unsigned part = 0; part < HK_LATENCY_PARTS; part++) {
		for (unsigned i = 0; i < CALLS; i++) {
			hk_latency_add(&latency.parts[part], part < 4 ? 1000 : 1000 * part);
		}
	}
	assert_true(hk_drift_of(&latency, &drift));
	/* 3 to 14 us more in each of twelve parts */
	assert_true(fabs(drift.cost_ns - (3 + 14) * 6 * 1000.0 * CALLS) < 1);
	assert_true(fabs(drift.from_ns - 1000) < 200);
	assert_true(fabs(drift.to_ns - 13500) < 2700);
}

static void test_few_calls_are_not_enough(void **state)
{
	struct hk_latency *latency = calloc(1, sizeof(*latency));
	struct hk_drift drift;

	(void)state;
	fill(latency, 1, growing);
	latency->parts[3] = (struct hk_latency_part){0};
	assert_false(hk_drift_of(latency, &drift));
	free(latency);
}

/* The 99th of a hundred durations, within a bucket. */
static void test_p99_is_that_of_the_durations(void **state)
{
	struct hk_latency_part part = {0};

	(void)state;
	assert_true(hk_latency_p99(&part) == 0);
	for (unsigned i = 1; i <= 1000; i++) {
		hk_latency_add(&part, i * 100);
	}
	assert_true(hk_latency_p99(&part) <= 99000);
	assert_true(hk_latency_p99(&part) >= 99000 * 0.8);
	hk_latency_add(&part, UINT64_MAX);
	assert_int_equal(part.calls, 1001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_only_growth_is_found),
	    cmocka_unit_test(test_cost_is_what_calls_take_longer),
	    cmocka_unit_test(test_few_calls_are_not_enough),
	    cmocka_unit_test(test_p99_is_that_of_the_durations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
