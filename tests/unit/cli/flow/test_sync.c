/* Clocks checked by collective calls: a seeded job whose truth is known, shown by clocks that are
 * right or wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/flow/sync.h"

#define RANKS 8u
#define CALLS 1000u
#define MS 1000000

struct world {
	uint64_t random;
	int64_t wrong_ns; /* the second node's mapped times */
	uint64_t bound_ns;
	unsigned lost; /* this call of rank 5 is not there; CALLS: all are */
	bool empty;
	uint64_t comm;
};

static int64_t random_below(struct world *world, int64_t below)
{
	world->random = world->random * 6364136223846793005ull + 1442695040888963407ull;
	return (int64_t)(world->random >> 33) % below;
}

/* The second node's error is within what its calls with the first leave: less than the spread of
 * their ends, about the truth. */
static void expect_slack(const struct world *world, struct hk_clock_slack *slack)
{
	assert_non_null(slack);
	hk_clock_slack_spread(slack, 1000);
	for (size_t i = 0; i < HK_CLOCK_SLACK_WINDOWS; i++) {
		assert_in_range(world->wrong_ns - slack->windows[i].low_ns, 0, MS / 10);
		assert_in_range(slack->windows[i].high_ns - world->wrong_ns, 0, MS / 10);
	}
}

/* Ranks enter within 3 ms and leave within 0.05 ms after the last one; even ranks are on node 0. */
static struct hk_sync_result run(struct world world)
{
	const struct hk_sync_options options = {.nodes = 2, .to_ns = INT64_C(10) * CALLS * MS};
	struct hk_sync *sync;
	assert_int_equal(hk_sync_new(&options, &sync), 0);
	for (unsigned number = 0; number < CALLS; number++) {
		int64_t enter[RANKS], last = 0;
		for (unsigned rank = 0; rank < RANKS; rank++) {
			enter[rank] = (int64_t)number * 10 * MS + random_below(&world, 3 * MS);
			last = enter[rank] > last ? enter[rank] : last;
		}
		for (unsigned rank = 0; rank < RANKS; rank++) {
			int64_t wrong = rank % 2 ? world.wrong_ns : 0;
			int64_t left = last + 1 + random_below(&world, MS / 20);
			const struct hk_sync_call call = {
			    .comm = world.comm,
			    .function = number % 2 ? "MPI_Barrier" : "MPI_Allreduce",
			    .process = rank,
			    .node = rank % 2,
			    .empty = world.empty,
			    .enter_ns = enter[rank] + wrong,
			    .exit_ns = left + wrong,
			    .bound_ns = world.bound_ns,
			};
			if (rank != 5 || number != world.lost) {
				assert_int_equal(hk_sync_add(sync, &call), 0);
			}
		}
	}
	struct hk_sync_result result = hk_sync_finish(sync);
	for (uint32_t node = 0; node < 2; node++) {
		assert_int_equal(hk_sync_node(sync, node).checks, result.checks);
		assert_int_equal(hk_sync_node(sync, node).violations, result.violations);
	}
	if (result.checks > 0) {
		expect_slack(&world, hk_sync_slack(sync, 1));
	}
	hk_sync_free(sync);
	return result;
}

static struct world right(void)
{
	return (struct world){.random = 7, .bound_ns = MS / 10, .lost = CALLS, .comm = 0xc0ffee};
}

static void test_right_clocks_pass(void **state)
{
	struct world world = right();
	(void)state;
	struct hk_sync_result result = run(world);
	assert_int_equal(result.checks, CALLS);
	assert_int_equal(result.violations, 0);
	/* Wrong, but by no more than is said. */
	world.wrong_ns = 190000;
	result = run(world);
	assert_int_equal(result.checks, CALLS);
	assert_int_equal(result.violations, 0);
}

static void test_wrong_clocks_are_found(void **state)
{
	struct world world = right();
	(void)state;
	world.wrong_ns = 5 * MS;
	struct hk_sync_result result = run(world);
	assert_int_equal(result.checks, CALLS);
	assert_int_equal(result.violations, CALLS);
	world.wrong_ns = -5 * MS;
	assert_int_equal(run(world).violations, CALLS);
	/* By little more than is said: the calls with the last rank on the late node tell. */
	world.wrong_ns = MS / 2;
	result = run(world);
	assert_true(result.violations > CALLS / 4 && result.violations < CALLS);
}

static void test_what_cannot_be_matched_is_not_judged(void **state)
{
	struct world world = right();
	(void)state;
	world.lost = 500;
	struct hk_sync_result result = run(world);
	assert_int_equal(result.checks, CALLS / 2); /* the barriers */
	assert_int_equal(result.violations, 0);
	world = right();
	world.empty = true;
	assert_int_equal(run(world).checks, 0);
	world = right();
	world.comm = 0;
	assert_int_equal(run(world).checks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_right_clocks_pass),
	    cmocka_unit_test(test_wrong_clocks_are_found),
	    cmocka_unit_test(test_what_cannot_be_matched_is_not_judged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
