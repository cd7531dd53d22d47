/* Clock maps against synthetic truth: every delay, loss and jump is drawn from a seed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collector/clock/estimator.h"
#include "report/clock/clock_map.h"

#define SECOND 1000000000ull
#define MS 1000000ull
#define START (5000 * SECOND) /* of the node's clock */
#define STEP SECOND
#define SEEDS 8u
#define MANY_SEEDS 40u
#define FIRST_WORST_NS 80e3

/* ---- a seeded world: two clocks and the way between them ---- */

struct world {
	uint64_t random;
	double offset_ns, drift, bend; /* at START; bend: of the drift, per ns */
	double (*jitter_ns)(struct world *world);
	double slower_ns;  /* the way to the root takes that much longer */
	double lost;	   /* share of probes that get no answer */
	uint64_t burst_ns; /* now and then all takes up to that much longer for a second */
	uint64_t jump_at_ns;
	double jump_ns;
	uint64_t deaf_from_ns, deaf_to_ns; /* no probe in between */
	uint8_t boot[HK_CLOCK_BOOT_BYTES];
};

static uint64_t random_next(struct world *world)
{
	uint64_t z = world->random += 0x9e3779b97f4a7c15ull;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static double random_unit(struct world *world)
{
	return (double)(random_next(world) >> 11) * 0x1p-53;
}

/* 0.2 to 2 ms, all as likely. */
static double jitter_even(struct world *world)
{
	return 0.2e6 + 1.8e6 * random_unit(world);
}

/* 0.2 to 2 ms, mostly short. */
static double jitter_tail(struct world *world)
{
	double tail = -0.4e6 * log(1 - random_unit(world));
	return 0.2e6 + fmin(tail, 1.8e6);
}

/* 0.2 to 2 ms, a bell: hardly ever short. */
static double jitter_bell(struct world *world)
{
	double sum = 0;
	for (int i = 0; i < 4; i++) {
		sum += random_unit(world);
	}
	return 0.2e6 + 0.45e6 * sum;
}

/* What a quiet switch does. */
static double jitter_quiet(struct world *world)
{
	return 30e3 + 5e3 * -log(1 - random_unit(world));
}

/* The root's clock less the node's when the node's reads `at`. */
static double truth(const struct world *world, double at)
{
	double since = at - (double)START;
	double jump = world->jump_ns != 0 && at > (double)world->jump_at_ns ? world->jump_ns : 0;
	return world->offset_ns + since * world->drift + since * since / 2 * world->bend + jump;
}

static struct hk_clock_trip travel(struct world *world, uint64_t sent)
{
	double there = world->jitter_ns(world) + world->slower_ns;
	double back = world->jitter_ns(world), inside = 20e3 * random_unit(world);
	if (world->burst_ns > 0 && sent / SECOND % 7 == 0) {
		there += (double)world->burst_ns * random_unit(world);
		back += (double)world->burst_ns * random_unit(world);
	}
	double arrives = (double)sent + there, leaves = arrives + inside;
	return (struct hk_clock_trip){
	    .sent_ns = sent,
	    .received_ns = (uint64_t)(arrives + truth(world, arrives)),
	    .answered_ns = (uint64_t)(leaves + truth(world, leaves)),
	    .returned_ns = (uint64_t)(leaves + back),
	};
}

/* ---- what the map says, against the truth ---- */

struct verdict {
	double worst_ns, *residuals;
	size_t count, room;
	size_t beyond_fit, beyond_bound;
	double bound_sum, fit_sum;
};

static void judge(struct verdict *verdict, const struct world *world, const Hk__ClockMap *map,
		  uint64_t at)
{
	double mapped = (double)(hk_report_map_root_ns(map, (int64_t)at) - (int64_t)at);
	double residual = fabs(mapped - truth(world, (double)at));
	struct hk_report_error error = hk_report_map_error(map, (int64_t)at, (int64_t)at);
	if (verdict->count == verdict->room) {
		verdict->room = 2 * verdict->room + 1024;
		verdict->residuals =
		    realloc(verdict->residuals, verdict->room * sizeof(*verdict->residuals));
		assert_non_null(verdict->residuals);
	}
	verdict->residuals[verdict->count++] = residual;
	verdict->worst_ns = fmax(verdict->worst_ns, residual);
	verdict->beyond_fit += residual > (double)error.fit_ns;
	verdict->beyond_bound += residual > (double)error.bound_ns;
	verdict->bound_sum += (double)error.bound_ns;
	verdict->fit_sum += (double)error.fit_ns;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double part_ns(struct verdict *verdict, double part)
{
	qsort(verdict->residuals, verdict->count, sizeof(*verdict->residuals), by_value);
	return verdict->residuals[(size_t)(part * (double)(verdict->count - 1))];
}

static void tell(struct verdict *verdict, const char *what)
{
	double count = (double)verdict->count;
	print_message("%-32s worst %6.1f us, median %5.1f us, beyond fit %.2f %%, beyond bound %zu "
		      "of %zu; fit %.1f us, bound %.1f us\n",
		      what, verdict->worst_ns / 1e3, part_ns(verdict, 0.5) / 1e3,
		      100 * (double)verdict->beyond_fit / count, verdict->beyond_bound,
		      verdict->count, verdict->fit_sum / count / 1e3,
		      verdict->bound_sum / count / 1e3);
}

/* Runs WORLD for SECONDS; live: every tenth of a second what the map says of this moment, later:
 * what it says of all of them in the end. Both from second FROM on. */
static void run(struct world *world, unsigned from, unsigned seconds, struct verdict *live,
		struct verdict *later)
{
	struct hk_estimator *estimator;
	struct hk_clock_map map;
	Hk__ClockMap message;
	uint64_t now = START, look = START + from * SECOND, end = START + seconds * SECOND;
	assert_int_equal(hk_estimator_new(&estimator), 0);
	while (now < end) {
		bool deaf = now >= world->deaf_from_ns && now < world->deaf_to_ns;
		struct hk_clock_trip trip = travel(world, now);
		if (!deaf && random_unit(world) >= world->lost) {
			hk_estimator_add(estimator, &trip, world->boot);
		}
		uint64_t next = now + hk_estimator_period_ns(estimator);
		next = next < trip.returned_ns ? trip.returned_ns : next;
		for (; look < next && look < end; look += STEP) {
			assert_true(hk_estimator_map(estimator, &map));
			assert_true(map.count <= HK_CLOCK_CORNERS);
			hk_clock_map_show(&map, &message);
			assert_true(hk_report_map_valid(&message));
			judge(live, world, &message, look);
		}
		now = next;
	}
	assert_true(hk_estimator_map(estimator, &map));
	hk_clock_map_show(&map, &message);
	for (uint64_t at = START + from * SECOND; at < end; at += STEP) {
		judge(later, world, &message, at);
	}
	hk_estimator_free(estimator);
}

static struct world world_of(uint64_t seed)
{
	struct world world = {
	    .random = seed * 0x2545f4914f6cdd1dull + 7,
	    .drift = 50e-6,
	    .offset_ns = 50e6,
	    .jitter_ns = jitter_even,
	};
	if (seed % 2) {
		world.drift = -world.drift;
		world.offset_ns = -world.offset_ns;
	}
	return world;
}

/* What is wrong with a map as long as both ways take as long. */
static void check_within(struct verdict *verdict, const char *what, double limit_ns)
{
	tell(verdict, what);
	assert_true(verdict->worst_ns < limit_ns);
	assert_true(part_ns(verdict, 0.5) < 20e3);
	assert_true(verdict->beyond_fit * 100 <= verdict->count);
	assert_int_equal(verdict->beyond_bound, 0);
	/* Errors that say nothing would always hold. */
	assert_true(verdict->fit_sum / (double)verdict->count < 100e3);
	free(verdict->residuals);
}

static void check(struct verdict *verdict, const char *what)
{
	check_within(verdict, what, 100e3);
}

/* ---- 50 ms, 50 ppm, 0.2 to 2 ms of delay both ways ---- */

static void symmetric(double (*jitter)(struct world *), double bend, const char *name)
{
	struct verdict live = {0}, later = {0};
	char what[64];
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct world world = world_of(seed);
		world.jitter_ns = jitter;
		world.bend = seed % 3 ? bend : -bend;
		run(&world, 10, 150, &live, &later);
	}
	snprintf(what, sizeof(what), "%s, at once", name);
	check(&live, what);
	snprintf(what, sizeof(what), "%s, afterwards", name);
	check(&later, what);
}

static void test_even_jitter(void **state)
{
	(void)state;
	symmetric(jitter_even, 0, "even jitter");
}

static void test_even_jitter_and_a_clock_that_warms_up(void **state)
{
	(void)state;
	symmetric(jitter_even, 1e-6 / 60e9, "even jitter, 1 ppm/min");
}

static void test_jitter_with_a_tail(void **state)
{
	(void)state;
	symmetric(jitter_tail, 1e-6 / 60e9, "jitter with a tail, 1 ppm/min");
}

static void test_quiet_network(void **state)
{
	(void)state;
	symmetric(jitter_quiet, 1e-6 / 60e9, "quiet, 1 ppm/min");
}

/* Few round trips are short. */
static void test_bell_jitter(void **state)
{
	(void)state;
	symmetric(jitter_bell, 0, "bell");
}

/* The worst moment is when there are ten seconds of probes only. */
static void test_first_seconds(void **state)
{
	static const struct {
		double (*jitter)(struct world *);
		const char *name;
	} kinds[] = {{jitter_even, "even"}, {jitter_tail, "tail"}, {jitter_bell, "bell"}};
	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct verdict live = {0}, later = {0};
		for (uint64_t seed = 0; seed < MANY_SEEDS; seed++) {
			struct world world = world_of(1000 + seed);
			world.jitter_ns = kinds[i].jitter;
			run(&world, 10, 14, &live, &later);
		}
		print_message("%s, first seconds\n", kinds[i].name);
		check_within(&live, "  at once", FIRST_WORST_NS);
		check_within(&later, "  afterwards", FIRST_WORST_NS);
	}
}

/* ---- what else happens on the way ---- */

static void test_probes_lost_and_bursts_of_delay(void **state)
{
	struct verdict live = {0}, later = {0};
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct world world = world_of(seed);
		world.lost = 0.3;
		world.burst_ns = 20 * MS;
		world.bend = 1e-6 / 60e9;
		run(&world, 10, 150, &live, &later);
	}
	free(live.residuals);
	check(&later, "30 % lost, bursts, afterwards");
	assert_int_equal(live.beyond_bound, 0);
}

/* One direction is 2 ms slower: that cannot be measured, so the bound must allow for it. */
static void test_bound_covers_one_slow_way(void **state)
{
	struct verdict live = {0}, later = {0};
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct world world = world_of(seed);
		world.slower_ns = 2e6;
		world.bend = 1e-6 / 60e9;
		run(&world, 10, 100, &live, &later);
	}
	tell(&live, "2 ms slower one way, at once");
	tell(&later, "2 ms slower one way, afterwards");
	assert_true(part_ns(&later, 0.01) > 0.8e6); /* it is wrong indeed */
	assert_int_equal(live.beyond_bound + later.beyond_bound, 0);
	assert_true(later.bound_sum / (double)later.count < 1.6e6);
	free(live.residuals);
	free(later.residuals);
}

/* No probe is answered for SILENCE seconds, in which the clock drifts by DRIFT more. */
static void silence(unsigned silence, struct verdict *live, struct verdict *later)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct world world = world_of(seed);
		world.deaf_from_ns = START + 80 * SECOND;
		world.deaf_to_ns = world.deaf_from_ns + silence * SECOND;
		world.bend = 0.2e-6 / 60e9;
		run(&world, 10, 160 + silence, live, later);
	}
}

static void test_root_away(void **state)
{
	struct verdict live = {0}, later = {0};
	(void)state;
	silence(20, &live, &later);
	assert_int_equal(live.beyond_bound, 0);
	free(live.residuals);
	check(&later, "20 s without an answer");
	live = later = (struct verdict){0};
	silence(600, &live, &later);
	tell(&live, "10 min without, at once");
	tell(&later, "10 min without, afterwards");
	assert_int_equal(live.beyond_bound + later.beyond_bound, 0);
	free(live.residuals);
	free(later.residuals);
}

/* A suspended machine's clock stands still: the other one's runs away from it. */
static void jump(double jump_ns, const char *what)
{
	struct verdict live = {0}, later = {0}, whole = {0};
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct world world = world_of(seed), again;
		world.jump_at_ns = START + 50 * SECOND + 77777;
		world.jump_ns = jump_ns;
		again = world;
		run(&world, 60, 130, &live, &later);
		/* And nothing in between is beyond what the map says. */
		run(&again, 10, 130, &live, &whole);
	}
	assert_int_equal(whole.beyond_bound, 0);
	check(&later, what);
	free(live.residuals);
	free(whole.residuals);
}

static void test_suspended_machine(void **state)
{
	(void)state;
	jump(3600e9, "after an hour of sleep");
	jump(5e6, "after a step of 5 ms");
}

/* ---- the map as a whole ---- */

static void test_map_increases_everywhere(void **state)
{
	struct hk_estimator *estimator;
	struct hk_clock_map map;
	Hk__ClockMap message;
	struct world world = world_of(1);
	(void)state;
	world.jump_at_ns = START + 50 * SECOND;
	world.jump_ns = 40e6;
	assert_int_equal(hk_estimator_new(&estimator), 0);
	for (uint64_t now = START; now < START + 200 * SECOND; now += 20 * MS) {
		struct hk_clock_trip trip = travel(&world, now);
		hk_estimator_add(estimator, &trip, world.boot);
	}
	assert_true(hk_estimator_map(estimator, &map));
	hk_clock_map_show(&map, &message);
	int64_t last = INT64_MIN;
	for (uint64_t at = START - 20 * SECOND; at < START + 300 * SECOND; at += 7 * MS + 1) {
		int64_t root = hk_report_map_root_ns(&message, (int64_t)at);
		assert_true(root > last);
		last = root;
	}
	for (size_t i = 0; i < map.count; i++) {
		int64_t at = (int64_t)map.at_ns[i];
		int64_t here = hk_report_map_root_ns(&message, at);
		assert_int_equal(here, at + map.offset_ns[i]);
		assert_true(here >= hk_report_map_root_ns(&message, at - 1));
		assert_true(here <= hk_report_map_root_ns(&message, at + 1));
	}
	hk_estimator_free(estimator);
}

/* A day: the rate swings by 0.3 ppm in ten minutes, as the air conditioning has it. */
static double swing(double since)
{
	double period = 600e9, amplitude = 0.3e-6;
	return amplitude * period / (2 * M_PI) * (1 - cos(2 * M_PI * since / period));
}

static void test_long_job_stays_bounded(void **state)
{
	struct hk_estimator *estimator;
	struct hk_clock_map map;
	Hk__ClockMap message;
	struct world world = world_of(2);
	const uint64_t day = 86400 * SECOND;
	(void)state;
	world.jitter_ns = jitter_quiet;
	assert_int_equal(hk_estimator_new(&estimator), 0);
	for (uint64_t now = START; now < START + day; now += SECOND / 2) {
		int64_t swung = (int64_t)swing((double)(now - START));
		struct hk_clock_trip trip = travel(&world, now);
		trip.received_ns += (uint64_t)swung;
		trip.answered_ns += (uint64_t)swung;
		hk_estimator_add(estimator, &trip, world.boot);
	}
	assert_true(hk_estimator_map(estimator, &map));
	assert_true(map.count <= HK_CLOCK_CORNERS);
	hk_clock_map_show(&map, &message);
	double worst = 0, said = 0;
	for (uint64_t at = START; at < START + day; at += 10 * SECOND) {
		double mapped =
		    (double)(hk_report_map_root_ns(&message, (int64_t)at) - (int64_t)at);
		double real = truth(&world, (double)at) + swing((double)(at - START));
		struct hk_report_error error =
		    hk_report_map_error(&message, (int64_t)at, (int64_t)at);
		assert_true(fabs(mapped - real) <= (double)error.bound_ns);
		worst = fmax(worst, fabs(mapped - real));
		said = fmax(said, (double)error.bound_ns);
	}
	print_message("a day in %zu corners: worst %.1f us, largest bound %.1f us\n", map.count,
		      worst / 1e3, said / 1e3);
	assert_true(worst < 100e3);
	assert_true(said < 1e6);
	hk_estimator_free(estimator);
}

static void feed(struct hk_estimator *estimator, struct world *world, uint64_t from, uint64_t to)
{
	for (uint64_t now = from; now < to; now += 20 * MS) {
		struct hk_clock_trip trip = travel(world, now);
		hk_estimator_add(estimator, &trip, world->boot);
	}
}

static void test_another_boot_of_the_root_begins_a_new_map(void **state)
{
	struct hk_estimator *estimator;
	struct hk_clock_map map;
	struct world world = world_of(4);
	(void)state;
	assert_int_equal(hk_estimator_new(&estimator), 0);
	assert_false(hk_estimator_map(estimator, &map));
	feed(estimator, &world, START, START + 100 * SECOND);
	world.boot[0] = 1;
	world.offset_ns -= 4000e9;
	feed(estimator, &world, START + 130 * SECOND, START + 150 * SECOND);
	assert_true(hk_estimator_map(estimator, &map));
	assert_true(map.at_ns[0] >= START + 130 * SECOND);
	assert_memory_equal(map.root_boot, world.boot, HK_CLOCK_BOOT_BYTES);
	double real = truth(&world, (double)map.at_ns[0]);
	assert_true(fabs((double)map.offset_ns[0] - real) < 100e3);
	hk_estimator_free(estimator);
}

/* A leaf that was killed begins a map of its own; the root has kept the old one. */
static void test_maps_of_two_leaves_of_a_node_join(void **state)
{
	struct hk_estimator *estimator;
	struct hk_clock_map kept = {0}, map;
	Hk__ClockMap message;
	struct world world = world_of(5);
	(void)state;
	for (unsigned leaf = 0; leaf < 2; leaf++) {
		uint64_t from = START + leaf * 100 * SECOND;
		assert_int_equal(hk_estimator_new(&estimator), 0);
		for (unsigned report = 0; report < 90; report++) {
			feed(estimator, &world, from + report * SECOND,
			     from + (report + 1) * SECOND);
			assert_true(hk_estimator_map(estimator, &map));
			hk_clock_map_join(&kept, &map);
		}
		hk_estimator_free(estimator);
	}
	hk_clock_map_show(&kept, &message);
	assert_true(hk_report_map_valid(&message));
	struct verdict verdict = {0};
	for (uint64_t at = START; at < START + 190 * SECOND; at += STEP) {
		judge(&verdict, &world, &message, at);
	}
	check(&verdict, "two leaves, one after the other");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_even_jitter),
	    cmocka_unit_test(test_even_jitter_and_a_clock_that_warms_up),
	    cmocka_unit_test(test_jitter_with_a_tail),
	    cmocka_unit_test(test_quiet_network),
	    cmocka_unit_test(test_bell_jitter),
	    cmocka_unit_test(test_first_seconds),
	    cmocka_unit_test(test_probes_lost_and_bursts_of_delay),
	    cmocka_unit_test(test_bound_covers_one_slow_way),
	    cmocka_unit_test(test_root_away),
	    cmocka_unit_test(test_suspended_machine),
	    cmocka_unit_test(test_map_increases_everywhere),
	    cmocka_unit_test(test_long_job_stays_bounded),
	    cmocka_unit_test(test_another_boot_of_the_root_begins_a_new_map),
	    cmocka_unit_test(test_maps_of_two_leaves_of_a_node_join),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
