/* What collective calls tell of a clock: bounds become as small as the truth allows, never smaller,
 * and what contradicts itself changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/clock/clock_map.h"
#include "report/clock/clock_slack.h"

#define SECOND INT64_C(1000000000)
#define US 1000
#define JOB (100 * SECOND)
#define ORIGIN (500 * SECOND) /* root's clock at the job's start */
#define CORNERS 3

/* A map of three corners of a node that is 100 s behind the root; wrong by error_at(). */
struct world {
	Hk__ClockMap map;
	uint64_t monotonic_ns[CORNERS], fit_ns[CORNERS], bound_ns[CORNERS];
	int64_t offset_ns[CORNERS];
};

static void world_init(struct world *world)
{
	*world = (struct world){
	    .map = HK__CLOCK_MAP__INIT,
	    .monotonic_ns = {410 * SECOND, 440 * SECOND, 480 * SECOND},
	    .offset_ns = {100 * SECOND, 100 * SECOND, 100 * SECOND},
	    .fit_ns = {150 * US, 150 * US, 150 * US},
	    .bound_ns = {500 * US, 500 * US, 500 * US},
	};
	world->map.n_monotonic_ns = world->map.n_offset_ns = CORNERS;
	world->map.n_fit_error_ns = world->map.n_bound_ns = CORNERS;
	world->map.monotonic_ns = world->monotonic_ns;
	world->map.offset_ns = world->offset_ns;
	world->map.fit_error_ns = world->fit_ns;
	world->map.bound_ns = world->bound_ns;
	world->map.drift_error_ppb = 1000;
	assert_true(hk_report_map_valid(&world->map));
}

/* Mapped time less true time: 100 us, rising by 0.5 ppm. */
static int64_t error_at(int64_t since_ns)
{
	return 100 * US + since_ns / 2000000;
}

/* A call every 0.1 s between FROM and TO, whose ranks leave 20 us after the last has entered: here
 * first, then there. */
static void tell_calls(struct hk_clock_slack *slack, int64_t from, int64_t to, int64_t more)
{
	for (int64_t at = from; at < to; at += SECOND / 10) {
		int64_t error = error_at(at) + more;
		hk_clock_slack_low(slack, at, error - 20 * US);
		hk_clock_slack_high(slack, at + 20 * US, error + 30 * US);
	}
}

static void tighten(struct world *world, struct hk_clock_slack *slack, uint64_t other_ns)
{
	hk_clock_slack_spread(slack, hk_clock_slack_rate_ppb(&world->map));
	hk_clock_slack_tighten(slack, ORIGIN, other_ns, &world->map);
}

static uint64_t bound_at(const struct world *world, int64_t since_ns)
{
	int64_t node_ns = ORIGIN + since_ns - 100 * SECOND;
	return hk_report_map_error(&world->map, node_ns, node_ns).bound_ns;
}

static void test_bounds_shrink_to_the_truth(void **state)
{
	static struct hk_clock_slack slack;
	struct world world;
	(void)state;
	world_init(&world);
	hk_clock_slack_init(&slack, 0, JOB);
	tell_calls(&slack, 0, JOB, 0);
	tighten(&world, &slack, 0);
	for (int64_t at = 0; at < JOB; at += SECOND / 7) {
		assert_true(bound_at(&world, at) >= (uint64_t)error_at(at));
		assert_true(bound_at(&world, at) < 200 * US);
	}
	for (size_t i = 0; i < CORNERS; i++) {
		assert_true(world.fit_ns[i] <= 150 * US && world.fit_ns[i] <= world.bound_ns[i]);
	}
	/* Told against a clock that may itself be wrong. */
	world_init(&world);
	hk_clock_slack_init(&slack, 0, JOB);
	tell_calls(&slack, 0, JOB, 0);
	tighten(&world, &slack, 100 * US);
	assert_true(bound_at(&world, JOB / 2) >= (uint64_t)error_at(JOB / 2) + 100 * US);
	assert_true(bound_at(&world, JOB / 2) < 300 * US);
}

static void test_far_calls_tell_less(void **state)
{
	static struct hk_clock_slack slack;
	struct world world;
	(void)state;
	world_init(&world);
	hk_clock_slack_init(&slack, 0, JOB);
	tell_calls(&slack, 0, 5 * SECOND, 0);
	tighten(&world, &slack, 0);
	assert_true(bound_at(&world, 5 * SECOND) < bound_at(&world, 60 * SECOND));
	for (int64_t at = 0; at < JOB; at += SECOND / 7) {
		assert_true(bound_at(&world, at) >= (uint64_t)error_at(at));
	}
}

static void test_contradictions_and_silence_change_nothing(void **state)
{
	static struct hk_clock_slack slack;
	struct world world;
	(void)state;
	world_init(&world);
	hk_clock_slack_init(&slack, 0, JOB);
	tighten(&world, &slack, 0);
	assert_int_equal(bound_at(&world, JOB / 2), 500 * US);
	/* The same moments, a millisecond apart. */
	hk_clock_slack_init(&slack, 0, JOB);
	tell_calls(&slack, 0, JOB, 0);
	tell_calls(&slack, 0, JOB, SECOND / 1000);
	tighten(&world, &slack, 0);
	assert_int_equal(bound_at(&world, JOB / 2), 500 * US);
	/* Wrong by more than the bound: it is not made larger, the violations say it. */
	hk_clock_slack_init(&slack, 0, JOB);
	tell_calls(&slack, 0, JOB, SECOND);
	tighten(&world, &slack, 0);
	assert_int_equal(bound_at(&world, JOB / 2), 500 * US);
}

static void test_any_number_is_borne(void **state)
{
	static const int64_t wild[] = {INT64_MIN, INT64_MIN + 1, -1,	   0,
				       1,	  INT64_MAX - 1, INT64_MAX};
	static struct hk_clock_slack slack;
	struct world world;
	(void)state;
	for (size_t i = 0; i < 7 * 7; i++) {
		world_init(&world);
		hk_clock_slack_init(&slack, wild[i / 7], wild[i % 7]);
		for (size_t k = 0; k < 7 * 7; k++) {
			hk_clock_slack_low(&slack, wild[k / 7], wild[k % 7]);
			hk_clock_slack_high(&slack, wild[k % 7], wild[k / 7]);
		}
		hk_clock_slack_spread(&slack, UINT64_MAX);
		hk_clock_slack_tighten(&slack, wild[i % 7], UINT64_MAX, &world.map);
		hk_clock_slack_tighten(&slack, wild[i / 7], 1, &world.map);
		assert_true(world.bound_ns[1] <= 500 * US);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bounds_shrink_to_the_truth),
	    cmocka_unit_test(test_far_calls_tell_less),
	    cmocka_unit_test(test_contradictions_and_silence_change_nothing),
	    cmocka_unit_test(test_any_number_is_borne),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
