/* How long a stretch of work usually is, on stretches whose undisturbed length is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/record/usual.h"

#define STRETCHES 600
#define STEP_NS 2000000u

static uint64_t state_of_chance;

/* xorshift64*, below LIMIT. */
static uint64_t draw(uint64_t limit)
{
	state_of_chance ^= state_of_chance >> 12;
	state_of_chance ^= state_of_chance << 25;
	state_of_chance ^= state_of_chance >> 27;
	return (state_of_chance * UINT64_C(0x2545f4914f6cdd1d) >> 32) % limit;
}

/* A step of NS: in two of three cases others make it longer, by up to a half. */
static uint64_t disturbed(uint64_t ns)
{
	return draw(3) ? ns + draw(ns / 2) : ns + draw(ns / 100);
}

static void expect_near(const char *what, uint64_t sum, uint64_t truth)
{
	print_message("%s: %.1f %% off\n", what, 100 * ((double)sum / (double)truth - 1));
	assert_true(sum > truth - truth / 50 && sum < truth + truth / 33);
}

static void test_disturbed_stretches_count_as_undisturbed(void **state)
{
	static struct hk_usual usual;
	uint64_t sum = 0;
	(void)state;
	for (int i = 0; i < STRETCHES; i++) {
		sum += hk_usual_ns(&usual, 1, disturbed(STEP_NS));
	}
	expect_near("disturbed", sum, (uint64_t)STRETCHES * STEP_NS);
}

/* Ranks differ in what the first one is: one that is shorter must not count for hundreds. */
static void test_a_short_first_stretch_is_soon_forgotten(void **state)
{
	static struct hk_usual usual;
	uint64_t sum = hk_usual_ns(&usual, 1, STEP_NS / 2);
	(void)state;
	for (int i = 0; i < STRETCHES; i++) {
		sum += hk_usual_ns(&usual, 1, disturbed(STEP_NS));
	}
	expect_near("short first", sum, (uint64_t)STRETCHES * STEP_NS);
}

static void test_usual_follows_a_program_that_slows_down_and_speeds_up(void **state)
{
	static struct hk_usual usual;
	uint64_t sum = 0, truth = 0;
	(void)state;
	for (int i = 0; i < STRETCHES; i++) {
		uint64_t now =
		    STEP_NS + STEP_NS / 100 * (uint64_t)(i % 200 < 100 ? i % 100 : 99 - i % 100);
		truth += now;
		sum += hk_usual_ns(&usual, 1, disturbed(now));
	}
	print_message("moving: %.1f %% off\n", 100 * ((double)sum / (double)truth - 1));
	assert_true(sum > truth - truth / 10 && sum < truth + truth / 33);
}

/* Addresses differ from rank to rank, and with them what else has the same place. */
static void test_a_kind_does_not_disturb_another(void **state)
{
	(void)state;
	for (uint64_t other = 2; other < 200; other++) {
		struct hk_usual usual = {0};
		uint64_t sum = 0;
		for (int i = 0; i < STRETCHES; i++) {
			sum += hk_usual_ns(&usual, 1, disturbed(STEP_NS));
			hk_usual_ns(&usual, other, 10 * STEP_NS);
		}
		assert_true(sum < (uint64_t)STRETCHES * (STEP_NS + STEP_NS / 33));
	}
}

static void test_more_kinds_than_there_is_room_for_count_whole_at_most(void **state)
{
	struct hk_usual usual = {0};
	(void)state;
	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t ns = disturbed(STEP_NS), usually = hk_usual_ns(&usual, 1 + draw(1000), ns);
		assert_true(usually > 0 && usually <= ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_disturbed_stretches_count_as_undisturbed),
	    cmocka_unit_test(test_a_short_first_stretch_is_soon_forgotten),
	    cmocka_unit_test(test_usual_follows_a_program_that_slows_down_and_speeds_up),
	    cmocka_unit_test(test_a_kind_does_not_disturb_another),
	    cmocka_unit_test(test_more_kinds_than_there_is_room_for_count_whole_at_most),
	};
	state_of_chance = UINT64_C(0x9e3779b97f4a7c15);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
