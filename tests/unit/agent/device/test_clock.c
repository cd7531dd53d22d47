/* A library's clock in ticks: of another origin, another rate, another unit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "agent/device/clock.h"
#include "agent/record/process.h"

#define MS 1000000u

static uint64_t monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t later(void)
{
	return monotonic() + 1700000000000000000u;
}

static uint64_t faster(void)
{
	return 3 * monotonic() + 77;
}

static void wait_until(uint64_t ns)
{
	const struct timespec at = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
}

/* The ticks of this process are nanoseconds of CLOCK_MONOTONIC. Returns how far off T is. */
static uint64_t off(const struct hk_device_clock *clock, uint64_t theirs, uint64_t ns)
{
	int64_t difference = (int64_t)(hk_device_clock_ticks(clock, theirs) - ns);

	return (uint64_t)llabs(difference);
}

static int setup(void **state)
{
	(void)state;
	hk_process.tsc = false;
	hk_process.tick_ns_q32 = 1ULL << 32;
	return 0;
}

static void test_another_origin(void **state)
{
	struct hk_device_clock clock;
	uint64_t begin = monotonic();

	(void)state;
	hk_device_clock_begin(&clock, later, true);
	/* At once, by the unit alone; then by two pairs. */
	assert_in_range(off(&clock, begin + 1700000000000000000u, begin), 0, 2 * MS);
	assert_int_equal(hk_device_clock_ns(&clock, 12345), 12345);
	wait_until(begin + 30 * MS);
	hk_device_clock_pair(&clock);
	for (uint64_t at = begin; at < begin + 40 * MS; at += MS) {
		assert_in_range(off(&clock, at + 1700000000000000000u, at), 0, 2 * MS);
	}
}

static void test_another_unit(void **state)
{
	struct hk_device_clock clock;
	uint64_t begin = monotonic();

	(void)state;
	hk_device_clock_begin(&clock, faster, false);
	wait_until(begin + 30 * MS);
	hk_device_clock_pair(&clock);
	wait_until(begin + 60 * MS);
	hk_device_clock_pair(&clock);
	for (uint64_t at = begin; at < begin + 60 * MS; at += MS) {
		assert_in_range(off(&clock, 3 * at + 77, at), 0, 2 * MS);
	}
	assert_in_range(hk_device_clock_ns(&clock, 3 * 1000 * MS), 990 * MS, 1010 * MS);
}

/* Pairs that come closer than the rate needs do not spoil it. */
static void test_many_close_pairs(void **state)
{
	struct hk_device_clock clock;

	(void)state;
	hk_device_clock_begin(&clock, faster, false);
	uint64_t begin = monotonic();
	while (monotonic() < begin + 50 * MS) {
		hk_device_clock_pair(&clock);
	}
	assert_in_range(hk_device_clock_ns(&clock, 3 * 1000 * MS), 990 * MS, 1010 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_another_origin),
	    cmocka_unit_test(test_another_unit),
	    cmocka_unit_test(test_many_close_pairs),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
