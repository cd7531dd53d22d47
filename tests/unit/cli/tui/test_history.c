/* Rates are differences between two looks; the last minute is kept second by second. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "cli/tui/cell.h"
#include "cli/tui/history.h"

#define SECOND UINT64_C(1000000000)

static const struct hk_track *count(struct hk_history *history, const char *key, uint64_t calls)
{
	const uint64_t counts[HK_TRACK_COUNTS] = {calls, 2 * calls};
	const struct hk_track *track = hk_history_count(history, key, counts);
	assert_non_null(track);
	return track;
}

static void test_rates_are_since_the_look_before(void **state)
{
	(void)state;
	struct hk_history *history = hk_history_new();
	hk_history_begin(history, 10 * SECOND, false);
	assert_false(hk_history_is_now(history));
	/* At first: since the start. */
	assert_true(count(history, "a", 100)->per_s[0] == 10);
	hk_history_begin(history, 12 * SECOND, false);
	assert_true(hk_history_is_now(history));
	assert_true(count(history, "a", 108)->per_s[0] == 4);
	assert_true(count(history, "a", 108)->per_s[1] == 8);
	/* One that was not there at the look before has begun since. */
	assert_true(count(history, "b", 6)->per_s[0] == 3);
	/* The same look again: it does not count twice. */
	hk_history_begin(history, 12 * SECOND, false);
	assert_true(count(history, "a", 108)->per_s[0] == 4);
	/* A count that falls shows a collector that was restarted. */
	hk_history_begin(history, 13 * SECOND, false);
	assert_true(count(history, "a", 50)->per_s[0] == 0);
	/* A job that has ended: over its whole life. */
	hk_history_begin(history, 20 * SECOND, true);
	assert_true(count(history, "a", 200)->per_s[0] == 10);
	hk_history_free(history);
}

static void test_seconds_between_looks_get_their_mean(void **state)
{
	(void)state;
	struct hk_history *history = hk_history_new();
	hk_history_begin(history, 100 * SECOND, false);
	count(history, "a", 1000);
	hk_history_begin(history, 103 * SECOND, false);
	const struct hk_track *track = count(history, "a", 1300);
	/* 101, 102 and 103 are known, nothing before. */
	for (size_t i = 0; i < 57; i++) {
		assert_true(isnan(hk_track_part(track, i, HK_TRACK_SECONDS)));
	}
	for (size_t i = 57; i < 60; i++) {
		assert_true(hk_track_part(track, i, HK_TRACK_SECONDS) == 100);
	}
	/* After a pause longer than a minute all is that pause's mean. */
	hk_history_begin(history, 203 * SECOND, false);
	track = count(history, "a", 1500);
	for (size_t i = 0; i < 60; i++) {
		assert_true(hk_track_part(track, i, HK_TRACK_SECONDS) == 2);
	}
	hk_history_free(history);
}

/* A collector that took another's place has not read everything again when it first answers. */
static void test_a_count_that_falls_is_no_start(void **state)
{
	(void)state;
	struct hk_history *history = hk_history_new();
	hk_history_begin(history, 100 * SECOND, false);
	count(history, "a", 1000);
	count(history, "b", 1000);
	hk_history_begin(history, 101 * SECOND, false);
	assert_true(count(history, "a", 1010)->per_s[0] == 10);
	/* Half of it, and b is not there at all; then of an earlier time, as a directory has it. */
	hk_history_begin(history, 102 * SECOND, false);
	assert_true(count(history, "a", 500)->per_s[0] == 0);
	hk_history_begin(history, 99 * SECOND, false);
	assert_true(count(history, "a", 990)->per_s[0] == 0);
	/* All of it: what it grew by since it was known, in that time. */
	hk_history_begin(history, 105 * SECOND, false);
	const struct hk_track *track = count(history, "a", 1050);
	assert_true(track->per_s[0] == 10);
	assert_true(count(history, "b", 1050)->per_s[0] == 10);
	for (size_t i = 55; i < 60; i++) {
		assert_true(hk_track_part(track, i, HK_TRACK_SECONDS) == 10);
	}
	/* It stays so low: counting starts again. */
	hk_history_begin(history, 106 * SECOND, false);
	assert_true(count(history, "a", 5)->per_s[0] == 0);
	hk_history_begin(history, 116 * SECOND, false);
	assert_true(count(history, "a", 25)->per_s[0] == 0);
	hk_history_begin(history, 117 * SECOND, false);
	assert_true(count(history, "a", 27)->per_s[0] == 2);
	hk_history_free(history);
}

/* What is written in lumps has a steady rate. */
static void test_lumps_have_a_steady_rate(void **state)
{
	(void)state;
	struct hk_history *history = hk_history_new();
	const struct hk_track *track = NULL;
	for (uint64_t i = 0; i < 200; i++) {
		hk_history_begin(history, 10 * SECOND + i * SECOND / 4, false);
		track = count(history, "a", 40000 + i / 4 * 4000);
		assert_true(track->steady_per_s[0] > 3200 && track->steady_per_s[0] < 4800);
	}
	hk_history_free(history);
}

static void test_rows_that_are_gone_are_forgotten(void **state)
{
	(void)state;
	struct hk_history *history = hk_history_new();
	hk_history_begin(history, 10 * SECOND, false);
	count(history, "a", 1000);
	hk_history_begin(history, 200 * SECOND, false);
	hk_history_begin(history, 400 * SECOND, false);
	/* It would be 2.5 a second if its 1000 were still known: it counts as new. */
	assert_true(count(history, "a", 1500)->per_s[0] == 7.5);
	hk_history_free(history);
}

static void test_a_sparkline_is_scaled_to_its_highest(void **state)
{
	(void)state;
	struct hk_track track = {.second = 59};
	char text[31];
	for (size_t i = 0; i < HK_TRACK_SECONDS; i++) {
		track.ring[i] = i < 30 ? NAN : i < 45 ? 0 : i < 54 ? 5 : 10;
	}
	hk_cell_spark(text, 10, &track, false);
	assert_string_equal(text, "     __:=#");
	hk_cell_spark(text, 4, NULL, true);
	assert_string_equal(text, "    ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rates_are_since_the_look_before),
	    cmocka_unit_test(test_seconds_between_looks_get_their_mean),
	    cmocka_unit_test(test_a_count_that_falls_is_no_start),
	    cmocka_unit_test(test_lumps_have_a_steady_rate),
	    cmocka_unit_test(test_rows_that_are_gone_are_forgotten),
	    cmocka_unit_test(test_a_sparkline_is_scaled_to_its_highest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
