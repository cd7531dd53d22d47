/* The limit of stacks: what a site keeps, against a model that counts in fractions of a stack; and
 * threads that share one. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "agent/frame/limit.h"
#include "agent/record/process.h"

#define SECOND 2000000000ull /* ticks: of half a nanosecond */
#define FIRST (1ull << 62)

static int set_clock(void **state)
{
	(void)state;
	hk_process.tick_ns_q32 = 1ull << 31;
	return 0;
}

static void test_no_limit_keeps_every_stack(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 10000; i++) {
		assert_true(hk_limit_take(1, 5));
	}
	hk_limit_set(1, 3);
	hk_limit_set(1, 0);
	for (uint64_t i = 0; i < 10000; i++) {
		assert_true(hk_limit_take(1, 5));
	}
}

static void test_a_second_of_stacks_at_once_then_none(void **state)
{
	static const uint32_t rates[] = {1, 2, 7, 100, 4096};

	(void)state;
	for (uint32_t site = 0; site < sizeof(rates) / sizeof(rates[0]); site++) {
		uint32_t kept = 0;
		hk_limit_set(10 + site, rates[site]);
		for (uint32_t i = 0; i < 2 * rates[site] + 10; i++) {
			kept += hk_limit_take(10 + site, FIRST);
		}
		assert_int_equal(kept, rates[site]);
		/* After a pause as many again, and not more after a long one. */
		kept = 0;
		for (uint32_t i = 0; i < 2 * rates[site] + 10; i++) {
			kept += hk_limit_take(10 + site, FIRST + 50 * SECOND);
		}
		assert_int_equal(kept, rates[site]);
	}
}

/* Calls at any distance. The model's bucket holds RATE stacks and fills by RATE a second. */
static void test_random_calls_keep_what_the_model_keeps(void **state)
{
	(void)state;
	srandom(4711);
	for (uint32_t round = 0; round < 50; round++) {
		uint32_t rate = 1 + (uint32_t)random() % 1000, site = 100 + round;
		uint64_t ticks = FIRST, step = SECOND / rate;
		uint64_t room = SECOND; /* in ticks: a stack takes one step of it */
		hk_limit_set(site, rate);
		for (uint32_t i = 0; i < 5000; i++) {
			uint64_t pause = (uint64_t)random() % (2 * step);
			pause = random() % 100 == 0 ? pause * 200 : pause;
			ticks += pause;
			room = room + pause > SECOND ? SECOND : room + pause;
			bool expected = room >= step;
			assert_int_equal(hk_limit_take(site, ticks), expected);
			room -= expected ? step : 0;
		}
	}
}

#define THREADS 4
#define CALLS 200000u

static void *call(void *kept)
{
	for (uint32_t i = 0; i < CALLS; i++) {
		*(uint32_t *)kept += hk_limit_take(200, 77);
	}
	return NULL;
}

static void test_threads_share_the_limit(void **state)
{
	pthread_t threads[THREADS];
	uint32_t kept[THREADS] = {0}, sum = 0;

	(void)state;
	hk_limit_set(200, 5000);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, call, &kept[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += kept[i];
	}
	assert_int_equal(sum, 5000);
}

static void test_sites_beyond_the_thunks_have_none(void **state)
{
	(void)state;
	hk_limit_set(UINT32_MAX, 5); /* writes nothing */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_no_limit_keeps_every_stack),
	    cmocka_unit_test(test_a_second_of_stacks_at_once_then_none),
	    cmocka_unit_test(test_random_calls_keep_what_the_model_keeps),
	    cmocka_unit_test(test_threads_share_the_limit),
	    cmocka_unit_test(test_sites_beyond_the_thunks_have_none),
	};
	return cmocka_run_group_tests(tests, set_clock, NULL);
}
