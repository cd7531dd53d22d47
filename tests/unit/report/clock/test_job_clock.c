/* Ticks to nanoseconds since the job's start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/clock/job_clock.h"
#include "snapshot_maker.h"

static void test_host_shares_one_monotonic_clock(void **state)
{
	struct maker maker;
	struct hk_report_clock *clocks;
	(void)state;
	maker_init(&maker);
	maker.job.start_unix_ns = 1000000000;
	struct maker_process *first = maker_process(&maker, 0, HK__ROLE__ROLE_MAIN, 0, 0);
	struct maker_process *second = maker_process(&maker, 1, HK__ROLE__ROLE_MAIN, 0, 0);
	first->start = (Hk__Anchor){first->start.base, 50, 5000, 1000000500};
	/* Realtime was set back by a second in between: the monotonic clock knows better. */
	second->start = (Hk__Anchor){second->start.base, 70, 7000, 2500};
	first->message.end = second->message.end = NULL;
	assert_int_equal(hk_report_clock_all(&maker.snapshot, &clocks), 0);
	assert_int_equal(hk_report_clock_ns(&clocks[0], 50), 500);
	assert_int_equal(hk_report_clock_ns(&clocks[0], 40), 490);
	assert_int_equal(hk_report_clock_ns(&clocks[1], 70), 2500);
	free(clocks);
	maker_fini(&maker);
}

static void test_nothing_is_known_without_anchors(void **state)
{
	struct maker maker;
	struct hk_report_clock *clocks;
	struct hk_report_error error;
	(void)state;
	maker_init(&maker);
	struct maker_process *process = maker_process(&maker, 0, HK__ROLE__ROLE_MAIN, 0, 0);
	process->message.start = process->message.end = NULL;
	assert_int_equal(hk_report_clock_all(&maker.snapshot, &clocks), 0);
	assert_false(hk_report_clock_error(&clocks[0], 0, 1, &error));
	free(clocks);
	maker_fini(&maker);
}

static void test_anchors_refine_the_tick(void **state)
{
	struct maker maker;
	struct hk_report_clock *clocks;
	(void)state;
	maker_init(&maker);
	struct maker_process *process = maker_process(&maker, 0, HK__ROLE__ROLE_MAIN, 0, 0);
	/* 3 ticks to the ns, said to be 0.3331 ns long; one hour. */
	process->message.tick_ns_q32 = (uint64_t)(0.3331 * 4294967296.0);
	process->start = (Hk__Anchor){process->start.base, 0, 0, 77};
	process->end =
	    (Hk__Anchor){process->end.base, 10800000000000u, 3600000000000u, 3600000000077u};
	assert_int_equal(hk_report_clock_all(&maker.snapshot, &clocks), 0);
	int64_t end = hk_report_clock_ns(&clocks[0], 10800000000000u);
	assert_true(end > 3600000000000 - 4000 && end <= 3600000000000);
	free(clocks);
	/* Anchors that contradict the calibration by more than 1 % are not believed. */
	process->end.monotonic_ns *= 2;
	assert_int_equal(hk_report_clock_all(&maker.snapshot, &clocks), 0);
	assert_int_equal(clocks[0].tick_ns_q32, process->message.tick_ns_q32);
	free(clocks);
	maker_fini(&maker);
}

static void test_never_decreases_and_never_overflows(void **state)
{
	const struct hk_report_clock wild = {
	    .ticks = 1ull << 63, .since_ns = INT64_MAX - 5, .tick_ns_q32 = 1ull << 40};
	const uint64_t ticks[] = {0, 1, 1ull << 62, 1ull << 63, (1ull << 63) + 1, UINT64_MAX};
	int64_t last = INT64_MIN;
	(void)state;
	for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++) {
		int64_t ns = hk_report_clock_ns(&wild, ticks[i]);
		assert_true(ns >= last);
		last = ns;
	}
	assert_int_equal(last, INT64_MAX);
}

/* A node 7 s behind the root, 100 ppm fast, then 100 ppm slow; the root's job began at 1000 s. */
struct two_nodes {
	struct maker maker;
	Hk__Anchor root;
	Hk__Node node, *nodes[1];
	Hk__ClockMap map;
	uint64_t at[3], fit[3], bound[3];
	int64_t offset[3];
	struct maker_process *home, *away;
};

#define SECOND 1000000000ull
#define UNIX (1700000000ull * SECOND)

static void two_nodes_init(struct two_nodes *two)
{
	static uint8_t id[16] = "the other node", boot[16] = "a boot of root";
	*two = (struct two_nodes){
	    .at = {993 * SECOND, 1003 * SECOND, 1013 * SECOND},
	    .offset = {7000000000, 6999000000, 7000000000},
	    .fit = {1000, 2000, 500},
	    .bound = {30000, 90000, 20000},
	};
	maker_init(&two->maker);
	hk__anchor__init(&two->root);
	hk__node__init(&two->node);
	hk__clock_map__init(&two->map);
	two->root.monotonic_ns = 1000 * SECOND;
	two->root.realtime_ns = UNIX + 5;
	two->map.n_monotonic_ns = two->map.n_offset_ns = 3;
	two->map.n_fit_error_ns = two->map.n_bound_ns = 3;
	two->map.monotonic_ns = two->at;
	two->map.offset_ns = two->offset;
	two->map.fit_error_ns = two->fit;
	two->map.bound_ns = two->bound;
	two->map.drift_ppb = 1000;
	two->map.drift_error_ppb = 2000;
	two->map.root_boot = two->maker.job.root_boot = (ProtobufCBinaryData){16, boot};
	two->node.clock = &two->map;
	two->node.id = (ProtobufCBinaryData){16, id};
	two->nodes[0] = &two->node;
	two->maker.job.nodes = two->nodes;
	two->maker.job.n_nodes = 1;
	two->maker.job.root = &two->root;
	two->maker.job.start_unix_ns = UNIX + 5;
	two->home = maker_process(&two->maker, 0, HK__ROLE__ROLE_MAIN, 0, 0);
	two->away = maker_process(&two->maker, 1, HK__ROLE__ROLE_MAIN, 0, 0);
	/* Its realtime clock is an hour ahead: that must not matter. */
	two->home->start = (Hk__Anchor){two->home->start.base, 40, 1001 * SECOND, UNIX + SECOND};
	two->away->start =
	    (Hk__Anchor){two->away->start.base, 60, 998 * SECOND, UNIX + 3600 * SECOND};
	two->home->message.end = two->away->message.end = NULL;
	two->away->message.node = two->node.id;
}

static void test_node_is_mapped_to_the_root(void **state)
{
	struct two_nodes two;
	struct hk_report_clock *clocks;
	struct hk_report_error error;
	(void)state;
	two_nodes_init(&two);
	assert_int_equal(hk_report_clock_all(&two.maker.snapshot, &clocks), 0);
	assert_int_equal(hk_report_clock_ns(&clocks[0], 40), SECOND);
	/* Halfway to the second corner: 998 s + 7 s - 0.5 ms, less the root's 1000 s. */
	assert_int_equal(clocks[1].since_ns, 4999500000);
	assert_int_equal(hk_report_clock_ns(&clocks[1], 60), 4999500000);
	assert_int_equal(hk_report_clock_ns(&clocks[1], 60 + 5 * SECOND), 9999000000);
	assert_int_equal(hk_report_clock_ns(&clocks[1], 60 + 15 * SECOND), 20000000000);
	assert_int_equal(hk_report_clock_ns(&clocks[1], 60 + 16 * SECOND), 21000001000);
	assert_true(hk_report_clock_error(&clocks[0], 40, 50, &error));
	assert_int_equal(error.bound_ns, 0);
	assert_true(hk_report_clock_error(&clocks[1], 60, 61, &error));
	assert_int_equal(error.fit_ns, 1000);
	assert_int_equal(error.bound_ns, 30000);
	assert_true(hk_report_clock_error(&clocks[1], 60, 60 + 6 * SECOND, &error));
	assert_int_equal(error.bound_ns, 90000);
	assert_true(hk_report_clock_error(&clocks[1], 60 + 15 * SECOND, 60 + 65 * SECOND, &error));
	assert_int_equal(error.fit_ns, 500 + 100000);
	assert_int_equal(error.bound_ns, 20000 + 100000);
	free(clocks);
	maker_fini(&two.maker);
}

/* A map to the clock of another boot, or one that makes no sense, is no map. */
static void test_what_is_no_map_is_not_used(void **state)
{
	uint8_t other[16] = "another boot";
	struct hk_report_clock *clocks;
	struct hk_report_error error;
	(void)state;
	for (int what = 0; what < 5; what++) {
		struct two_nodes two;
		two_nodes_init(&two);
		switch (what) {
		case 0:
			two.map.root_boot.data = other;
			break;
		case 1:
			two.at[2] = two.at[1];
			break;
		case 2:
			two.offset[1] = two.offset[0] - 11000000000; /* backwards */
			break;
		case 3:
			two.map.n_bound_ns = 2;
			break;
		default:
			two.map.drift_ppb = INT64_MIN;
			break;
		}
		assert_int_equal(hk_report_clock_all(&two.maker.snapshot, &clocks), 0);
		assert_null(clocks[1].map);
		assert_int_equal(clocks[1].since_ns, 3600 * SECOND - 5);
		assert_false(hk_report_clock_error(&clocks[1], 60, 61, &error));
		free(clocks);
		/* Alone it is right by itself. */
		two.maker.snapshot.n_processes = 1;
		two.maker.snapshot.processes[0] = &two.away->message;
		assert_int_equal(hk_report_clock_all(&two.maker.snapshot, &clocks), 0);
		assert_true(hk_report_clock_error(&clocks[0], 60, 61, &error));
		two.maker.snapshot.processes[0] = &two.home->message;
		two.maker.snapshot.n_processes = 2;
		free(clocks);
		maker_fini(&two.maker);
	}
}

/* Whatever a valid map says, later ticks are no earlier. */
static void test_mapped_times_never_decrease(void **state)
{
	struct two_nodes two;
	struct hk_report_clock *clocks;
	(void)state;
	two_nodes_init(&two);
	two.offset[1] = two.offset[0] - 9999999990; /* the root stood still */
	two.offset[2] = (int64_t)1 << 60;
	assert_int_equal(hk_report_clock_all(&two.maker.snapshot, &clocks), 0);
	assert_non_null(clocks[1].map);
	int64_t last = INT64_MIN;
	for (uint64_t ticks = 0; ticks < 20 * SECOND; ticks += 999331) {
		int64_t ns = hk_report_clock_ns(&clocks[1], ticks);
		assert_true(ns >= last);
		last = ns;
	}
	assert_true(hk_report_clock_ns(&clocks[1], UINT64_MAX) > last);
	free(clocks);
	maker_fini(&two.maker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_host_shares_one_monotonic_clock),
	    cmocka_unit_test(test_nothing_is_known_without_anchors),
	    cmocka_unit_test(test_anchors_refine_the_tick),
	    cmocka_unit_test(test_never_decreases_and_never_overflows),
	    cmocka_unit_test(test_node_is_mapped_to_the_root),
	    cmocka_unit_test(test_what_is_no_map_is_not_used),
	    cmocka_unit_test(test_mapped_times_never_decrease),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
