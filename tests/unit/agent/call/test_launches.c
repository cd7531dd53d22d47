/* Finds the calls around a moment, of the thread that made them, while newer ones take their place.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agent/call/launches.h"
#include "agent/record/process.h"
#include "agent/record/thread.h"

#define DOMAIN 1u
#define SITE_OUTER 5u
#define SITE_INNER 6u

static const struct hk_hook launch = {
    .meaning = HK_MEANING_LAUNCH, .value_count = 1, .values = {{.key = HK_KEY_STREAM}}};
static const struct hk_hook wait = {.meaning = HK_MEANING_WAIT};
static struct hk_site_hot outer = {.domain = DOMAIN, .index = SITE_OUTER, .hook = &launch};
static struct hk_site_hot inner = {.domain = DOMAIN, .index = SITE_INNER, .hook = &launch};
static struct hk_site_hot waits = {.domain = DOMAIN, .index = 7, .hook = &wait};
static struct hk_thread threads[2];

static uint32_t self(void)
{
	return (uint32_t)(uintptr_t)__builtin_thread_pointer();
}

/* A call of SITE from FROM on that has just returned. Returns a moment within it. */
static uint64_t make(struct hk_thread *thread, struct hk_site_hot *site, uint64_t from,
		     bool outermost, uint64_t stream)
{
	struct hk_call call = {
	    .site = site, .start_ticks = from, .depth = 1, .domains = outermost ? 0 : DOMAIN};

	hk_launches_end(thread, &call, &stream);
	return from;
}

static int setup(void **state)
{
	(void)state;
	hk_process.tsc = false;
	hk_process.tick_ns_q32 = 1ULL << 32;
	threads[0].uid = 1;
	threads[0].tid = 1001;
	threads[1].uid = 2;
	threads[1].tid = 1002;
	return 0;
}

static void test_a_call_and_the_one_within(void **state)
{
	struct hk_launch_found found;
	uint64_t from = hk_process_ticks();

	(void)state;
	while (hk_process_ticks() < from + 1000) {
	}
	uint64_t within = from + 500;
	make(&threads[0], &inner, from + 200, false, 77);
	/* The outer one has not returned. */
	assert_false(hk_launches_find(self(), within, 0, &found));
	make(&threads[0], &outer, from + 100, true, 78);
	assert_true(hk_launches_find(self(), within, 0, &found));
	assert_int_equal(found.count, 2);
	assert_int_equal(found.sites[0], SITE_INNER);
	assert_int_equal(found.sites[1], SITE_OUTER);
	assert_int_equal(found.thread, 1);
	assert_int_equal(found.stream, 77);
	/* By the kernel's id of the thread too; not by another one's; not at another time. */
	assert_true(hk_launches_find(1001, within, 0, &found));
	assert_false(hk_launches_find(1002, within, 0, &found));
	assert_false(hk_launches_find(self(), from + 50, 0, &found));
	assert_false(hk_launches_find(self(), hk_process_ticks() + 1000000, 0, &found));
}

/* The clock of a device's library may lag by more than the inner call takes to begin. */
static void test_an_inner_call_that_begins_later(void **state)
{
	struct hk_launch_found found;
	uint64_t from = hk_process_ticks();

	(void)state;
	while (hk_process_ticks() < from + 1000) {
	}
	make(&threads[0], &inner, from + 200, false, 77);
	make(&threads[0], &inner, from + 500, false, 77);
	make(&threads[0], &outer, from + 100, true, 78);
	assert_true(hk_launches_find(self(), from + 150, 0, &found));
	assert_int_equal(found.count, 1);
	assert_int_equal(found.sites[0], SITE_OUTER);
	assert_true(hk_launches_find(self(), from + 150, 60, &found));
	assert_int_equal(found.count, 2);
	assert_int_equal(found.sites[0], SITE_INNER);
	assert_int_equal(found.stream, 77);
	assert_false(hk_launches_find(self(), from + 50, 60, &found));
}

static void test_waits_are_not_kept(void **state)
{
	struct hk_launch_found found;
	uint64_t from = hk_process_ticks();

	(void)state;
	make(&threads[1], &waits, from, true, 0);
	assert_false(hk_launches_find(1002, from, 0, &found));
}

static void test_the_newest_stay(void **state)
{
	static uint64_t moments[HK_LAUNCHES + 100];
	struct hk_launch_found found;

	(void)state;
	for (size_t i = 0; i < HK_LAUNCHES + 100; i++) {
		uint64_t from = hk_process_ticks();
		while (hk_process_ticks() == from) {
		}
		moments[i] = make(&threads[1], &outer, hk_process_ticks(), true, i);
	}
	assert_false(hk_launches_find(1002, moments[0], 0, &found));
	assert_false(hk_launches_find(1002, moments[99], 0, &found));
	for (size_t i = 200; i < HK_LAUNCHES + 100; i++) {
		assert_true(hk_launches_find(1002, moments[i], 0, &found));
		assert_int_equal(found.stream, i);
		assert_int_equal(found.thread, 2);
	}
}

/* The state of a thread that ended goes to a new one. Its calls keep their thread. */
static void test_a_thread_takes_over(void **state)
{
	struct hk_launch_found found;
	uint64_t before = make(&threads[1], &outer, hk_process_ticks(), true, 1), from;

	(void)state;
	threads[1].uid = 3;
	threads[1].tid = 1003;
	do {
		from = hk_process_ticks();
	} while (from <= before + 1000);
	make(&threads[1], &outer, from, true, 2);
	assert_true(hk_launches_find(1002, before, 0, &found));
	assert_int_equal(found.thread, 2);
	assert_true(hk_launches_find(1003, from, 0, &found));
	assert_int_equal(found.thread, 3);
	assert_false(hk_launches_find(1003, before, 0, &found));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_a_call_and_the_one_within),
	    cmocka_unit_test(test_an_inner_call_that_begins_later),
	    cmocka_unit_test(test_waits_are_not_kept),
	    cmocka_unit_test(test_the_newest_stay),
	    cmocka_unit_test(test_a_thread_takes_over),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
