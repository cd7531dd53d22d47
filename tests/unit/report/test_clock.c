/* Ticks to nanoseconds since the job's start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/clock.h"
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
	const struct hk_report_clock wild = {1ull << 63, INT64_MAX - 5, 1ull << 40};
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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_host_shares_one_monotonic_clock),
	    cmocka_unit_test(test_anchors_refine_the_tick),
	    cmocka_unit_test(test_never_decreases_and_never_overflows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
