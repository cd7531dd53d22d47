/* Whether conditions hold, from values of processes that the test makes up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "collector/trigger/watch.h"
#include "hooks/hook.h"
#include "ring/segment.h"
#include "wire/columns.h"

#define SECOND_NS UINT64_C(1000000000)
#define SITES 3u
#define BUCKETS 2u

/* A process with three sites, each with calls of two durations. */
struct fake {
	Hk__Process state;
	uint8_t uid[16];
	Hk__Anchor start, seen;
	Hk__Site sites[SITES], *list[SITES];
	uint64_t calls[SITES][BUCKETS], errors[SITES];
};

static const uint64_t durations[BUCKETS] = {1000, 50000000};

static void fake_init(struct fake *fake, int32_t rank)
{
	static const char *const functions[SITES] = {"MPI_Allreduce", "read", "step"};
	memset(fake, 0, sizeof(*fake));
	hk__process__init(&fake->state);
	hk__anchor__init(&fake->start);
	hk__anchor__init(&fake->seen);
	fake->start.monotonic_ns = fake->seen.monotonic_ns = 100 * SECOND_NS;
	fake->uid[0] = (uint8_t)(rank + 1);
	fake->state.uid = (ProtobufCBinaryData){sizeof(fake->uid), fake->uid};
	fake->state.rank = rank;
	fake->state.role = HK__ROLE__ROLE_MAIN;
	fake->state.start = &fake->start;
	fake->state.seen = &fake->seen;
	for (uint32_t i = 0; i < SITES; i++) {
		hk__site__init(&fake->sites[i]);
		fake->sites[i].id = i;
		fake->sites[i].function = (char *)(uintptr_t)functions[i];
		fake->sites[i].provider = (char *)(uintptr_t) "libmpi.so";
		fake->sites[i].meaning = i == 2 ? HK_MEANING_RANGE : HK_MEANING_NONE;
		fake->list[i] = &fake->sites[i];
	}
	fake->state.sites = fake->list;
	fake->state.n_sites = SITES;
}

static void fake_look(struct fake *fake, struct hk_watch *watch)
{
	struct hk_columns_builder builder = {0};
	fake->seen.monotonic_ns += SECOND_NS;
	for (uint32_t i = 0; i < SITES; i++) {
		uint32_t bucket[BUCKETS];
		uint64_t count[BUCKETS], calls = 0, total = 0;
		size_t used = 0;
		for (size_t b = 0; b < BUCKETS; b++) {
			if (fake->calls[i][b] > 0) {
				bucket[used] = hk_histogram_index(durations[b]);
				count[used++] = fake->calls[i][b];
			}
			calls += fake->calls[i][b];
			total += fake->calls[i][b] * durations[b];
		}
		const struct hk_columns_row row = {.site = i,
						   .calls = calls,
						   .errors = fake->errors[i],
						   .total_ns = total,
						   .bucket = bucket,
						   .count = count,
						   .buckets = used};
		assert_int_equal(hk_columns_add(&builder, &row), 0);
	}
	fake->state.cells = hk_columns_take(&builder);
	hk_watch_process(watch, &fake->state);
	hk__cells__free_unpacked(fake->state.cells, NULL);
	fake->state.cells = NULL;
}

static struct hk_condition condition_of(const char *text)
{
	struct hk_condition condition;
	const char *why = "";
	if (hk_condition_parse(text, &condition, &why) != 0) {
		fail_msg("%s: %s", text, why);
	}
	return condition;
}

/* Makes a look of one process. Returns whether condition 0 begins. */
static bool look(struct hk_watch *watch, struct fake *fake)
{
	hk_watch_begin(watch);
	fake_look(fake, watch);
	return hk_watch_begins(watch, 0);
}

static bool is_near(double value, double wanted)
{
	return value > wanted * 0.97 && value < wanted * 1.03;
}

static void quantile_is_of_the_calls_since_the_last_look(void **state)
{
	const struct hk_condition condition = condition_of("MPI_Allreduce p99>10ms");
	struct hk_watch *watch = hk_watch_new(&condition, 1);
	struct fake fake;
	(void)state;
	fake_init(&fake, 3);
	fake.calls[0][0] = 1000;
	fake.calls[0][1] = 5; /* 0.5 % */
	assert_false(look(watch, &fake));
	assert_true(hk_watch_saw(watch, 0)->known);
	assert_true(is_near(hk_watch_saw(watch, 0)->value, 1000));
	/* Of all calls so far these are few, of this look many. */
	fake.calls[0][0] += 95;
	fake.calls[0][1] += 5;
	assert_true(look(watch, &fake));
	const struct hk_watch_saw *saw = hk_watch_saw(watch, 0);
	assert_true(is_near(saw->value, 50e6));
	assert_int_equal(saw->rank, 3);
	assert_string_equal(saw->function, "MPI_Allreduce");
	hk_watch_free(watch);
}

static void condition_begins_once_until_it_has_ended(void **state)
{
	const struct hk_condition condition = condition_of("* max>10ms");
	struct hk_watch *watch = hk_watch_new(&condition, 1);
	struct fake fake;
	(void)state;
	fake_init(&fake, 0);
	fake.calls[1][1] = 1;
	assert_true(look(watch, &fake));
	fake.calls[1][1]++;
	assert_false(look(watch, &fake)); /* it still holds */
	assert_false(look(watch, &fake)); /* no calls: not known */
	assert_false(hk_watch_saw(watch, 0)->known);
	fake.calls[1][1]++;
	assert_false(look(watch, &fake)); /* still the same state */
	fake.calls[1][0]++;
	assert_false(look(watch, &fake)); /* over */
	fake.calls[1][1]++;
	assert_true(look(watch, &fake));
	hk_watch_free(watch);
}

static void functions_that_no_process_has_are_told(void **state)
{
	const struct hk_condition conditions[3] = {condition_of("MPI_Alreduce p99>10ms"),
						   condition_of("signal"),
						   condition_of("MPI_Allreduce error")};
	struct hk_watch *watch = hk_watch_new(conditions, 3);
	struct fake fake;
	(void)state;
	assert_int_equal(hk_watch_unseen(watch), 5);
	fake_init(&fake, 0);
	fake.calls[0][0] = 1;
	look(watch, &fake);
	assert_int_equal(hk_watch_unseen(watch), 1);
	hk_watch_free(watch);
}

static void worst_rank_is_named(void **state)
{
	const struct hk_condition condition = condition_of("MPI_* mean>1ms");
	struct hk_watch *watch = hk_watch_new(&condition, 1);
	struct fake fakes[3];
	(void)state;
	hk_watch_begin(watch);
	for (int32_t rank = 0; rank < 3; rank++) {
		fake_init(&fakes[rank], rank);
		fakes[rank].calls[0][0] = 10;
		fakes[rank].calls[0][1] = rank == 1 ? 10 : 0;
		fake_look(&fakes[rank], watch);
	}
	assert_true(hk_watch_begins(watch, 0));
	assert_int_equal(hk_watch_saw(watch, 0)->rank, 1);
	assert_true(is_near(hk_watch_saw(watch, 0)->value, 25e6));
	hk_watch_free(watch);
}

static void errors_are_counted_by_rate(void **state)
{
	const struct hk_condition conditions[] = {
	    condition_of("read error"), condition_of("error>5/s"), condition_of("MPI_* error")};
	struct hk_watch *watch = hk_watch_new(conditions, 3);
	struct fake fake;
	(void)state;
	fake_init(&fake, 0);
	fake.calls[1][0] = 100;
	fake.errors[1] = 5;
	assert_true(look(watch, &fake));
	assert_false(hk_watch_begins(watch, 1));
	assert_false(hk_watch_begins(watch, 2));
	fake.calls[1][0] += 100;
	fake.errors[1] += 6;
	assert_false(look(watch, &fake)); /* it still holds */
	assert_true(hk_watch_begins(watch, 1));
	assert_true(hk_watch_saw(watch, 1)->value == 6);
	hk_watch_free(watch);
}

static void steps_are_compared_with_their_median(void **state)
{
	const struct hk_condition conditions[] = {
	    condition_of("step>10x"), condition_of("step>10ms"), condition_of("finding=fail-slow")};
	struct hk_watch *watch = hk_watch_new(conditions, 3);
	struct fake fake;
	(void)state;
	fake_init(&fake, 0);
	fake.calls[2][0] = 9;
	assert_false(look(watch, &fake));
	fake.calls[2][0]++;
	assert_false(look(watch, &fake)); /* too few for a median */
	assert_false(hk_watch_saw(watch, 0)->known);
	assert_false(hk_watch_begins(watch, 1));
	fake.calls[2][1] = 1;
	assert_true(look(watch, &fake));
	assert_true(is_near(hk_watch_saw(watch, 0)->value, 50000));
	assert_true(hk_watch_begins(watch, 1));
	assert_false(hk_watch_begins(watch, 2)); /* one look is no change */
	for (int i = 0; i < 2; i++) {
		fake.calls[2][1]++;
		look(watch, &fake);
	}
	assert_true(hk_watch_begins(watch, 2));
	hk_watch_free(watch);
}

static void marked_steps_are_steps(void **state)
{
	const struct hk_condition condition = condition_of("step>10x");
	struct hk_watch *watch = hk_watch_new(&condition, 1);
	uint32_t bucket[] = {hk_histogram_index(1000000), hk_histogram_index(50000000), UINT32_MAX};
	uint64_t count[] = {20, 0, 1};
	Hk__StepTimes times = HK__STEP_TIMES__INIT;
	struct fake fake;
	(void)state;
	fake_init(&fake, 0);
	times.bucket = bucket;
	times.count = count;
	times.n_bucket = times.n_count = 3;
	fake.state.step_times = &times;
	assert_false(look(watch, &fake));
	assert_false(look(watch, &fake));
	count[1] = 1;
	assert_true(look(watch, &fake));
	assert_true(is_near(hk_watch_saw(watch, 0)->value, 50));
	fake.state.step_times = NULL;
	hk_watch_free(watch);
}

static void death_fires_once_for_each_rank(void **state)
{
	const struct hk_condition conditions[] = {condition_of("signal"), condition_of("signal=9")};
	struct hk_watch *watch = hk_watch_new(conditions, 2);
	struct fake first, second;
	(void)state;
	fake_init(&first, 0);
	fake_init(&second, 1);
	assert_false(look(watch, &first));
	first.state.exit_kind = HK__EXIT_KIND__EXIT_SIGNAL;
	first.state.exit_code = 11;
	assert_true(look(watch, &first));
	assert_true(hk_watch_saw(watch, 0)->value == 11);
	assert_false(hk_watch_begins(watch, 1));
	assert_false(look(watch, &first));
	second.state.exit_kind = HK__EXIT_KIND__EXIT_SIGNAL;
	second.state.exit_code = 9;
	assert_true(look(watch, &second));
	assert_true(hk_watch_begins(watch, 1));
	assert_int_equal(hk_watch_saw(watch, 1)->rank, 1);
	hk_watch_free(watch);
}

static void old_process_is_judged_from_its_second_look_on(void **state)
{
	const struct hk_condition condition = condition_of("* max>10ms");
	struct hk_watch *watch = hk_watch_new(&condition, 1);
	struct fake fake;
	(void)state;
	fake_init(&fake, 0);
	fake.start.monotonic_ns = SECOND_NS;
	fake.calls[0][1] = 1;
	assert_false(look(watch, &fake));
	fake.calls[0][1]++;
	assert_true(look(watch, &fake));
	hk_watch_free(watch);
}

static void any_site_number_does_no_harm(void **state)
{
	const struct hk_condition condition = condition_of("* max>10ms");
	struct hk_watch *watch = hk_watch_new(&condition, 1);
	struct fake fake;
	(void)state;
	fake_init(&fake, 0);
	fake.sites[0].id = UINT32_MAX;
	fake.sites[1].id = HK_SITES_MAX - 1;
	fake.calls[2][1] = 1;
	assert_true(look(watch, &fake));
	hk_watch_free(watch);
}

static void function_is_found_in_any_order_of_sites(void **state)
{
	const struct hk_condition condition = condition_of("* max>10ms");
	struct hk_watch *watch = hk_watch_new(&condition, 1);
	struct fake fake;
	(void)state;
	fake_init(&fake, 0);
	for (uint32_t i = 0; i < SITES; i++) {
		fake.list[i] = &fake.sites[SITES - 1 - i];
	}
	fake.calls[1][1] = 1;
	assert_true(look(watch, &fake));
	assert_string_equal(hk_watch_saw(watch, 0)->function, "read");
	hk_watch_free(watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(quantile_is_of_the_calls_since_the_last_look),
	    cmocka_unit_test(condition_begins_once_until_it_has_ended),
	    cmocka_unit_test(functions_that_no_process_has_are_told),
	    cmocka_unit_test(worst_rank_is_named),
	    cmocka_unit_test(errors_are_counted_by_rate),
	    cmocka_unit_test(steps_are_compared_with_their_median),
	    cmocka_unit_test(marked_steps_are_steps),
	    cmocka_unit_test(death_fires_once_for_each_rank),
	    cmocka_unit_test(old_process_is_judged_from_its_second_look_on),
	    cmocka_unit_test(any_site_number_does_no_harm),
	    cmocka_unit_test(function_is_found_in_any_order_of_sites),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
