/* The governor over a segment written by the test: which sites it lowers, how far, which it leaves
 * alone, and when a level comes back. Its clock is the test's, in steps so long that the time it
 * really takes does not matter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collector/level/governor.h"
#include "collector/model/attachment.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/process/process_state.h"
#include "hooks/hook.h"
#include "segment_maker.h"

#define LOOK_S 1000u
#define LOOK_NS (LOOK_S * UINT64_C(1000000000))

static struct segment_maker maker;
static Hk__Job job_state;
static struct hk_job job;
static struct hk_attachment segment;
static struct hk_process process;
static uint64_t now_ns;

/* What other programs take of the processor between two looks at the clock. */
static int64_t taken_ns, all_taken_ns;

int __real_clock_gettime(clockid_t clock, struct timespec *ret_time);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	int r = __real_clock_gettime(clock, ret_time);
	if (r == 0 && clock == CLOCK_MONOTONIC) {
		all_taken_ns += taken_ns;
		int64_t ns = ret_time->tv_nsec + all_taken_ns;
		ret_time->tv_sec += ns / 1000000000;
		ret_time->tv_nsec = ns % 1000000000;
	}
	return r;
}

static int setup(void **state)
{
	(void)state;
	segment_maker_init(&maker, 64);
	struct hk_segment_header *header = segment_maker_header(&maker);
	header->budget_ppm = 20000;
	header->count_cost_ps = 1000;
	header->call_cost_ps = 30000;
	header->record_cost_ps = 38000;
	segment_maker_thread(&maker, HK_SLOT_LIVE, 10, 1);
	return 0;
}

/* Attaches to what setup and the test have made, and has the first look. */
static void attach(void)
{
	hk__job__init(&job_state);
	job = (struct hk_job){.state = &job_state};
	segment = (struct hk_attachment){.pidfd = -1};
	process = (struct hk_process){.job = &job, .foreign = true, .segment = &segment};
	now_ns = LOOK_NS;
	assert_int_equal(hk_reader_open(maker.dirfd, maker.name, &segment.reader), 0);
	assert_int_equal(hk_state_new(hk_reader_identity(segment.reader), &process.state), 0);
	hk_governor_check(&process, now_ns);
}

static int teardown(void **state)
{
	(void)state;
	taken_ns = 0;
	segment.governor = hk_governor_free(segment.governor);
	hk_reader_free(segment.reader);
	hk__process__free_unpacked(process.state, NULL);
	segment_maker_fini(&maker);
	return 0;
}

struct subject {
	struct hk_site *site;
	struct hk_cell *cell;
	uint64_t calls_per_s;
};

static struct subject subject(const char *function, uint64_t calls_per_s)
{
	struct subject made = {segment_maker_site(&maker, function, "/bin/a", "/lib/libx.so.1"),
			       NULL, calls_per_s};
	made.site->meaning = 0;
	made.site->level = HK_LEVEL_RECORD;
	made.cell = segment_maker_cell(&maker, 0, made.site->id);
	made.cell->calls = 12345; /* of before */
	return made;
}

/* The program runs on until the governor has looked again. */
static void run(struct subject *const subjects[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		subjects[i]->cell->calls += subjects[i]->calls_per_s * LOOK_S;
	}
	now_ns += LOOK_NS;
	hk_governor_check(&process, now_ns);
}

static void expect_step(size_t index, const char *pattern, uint32_t from, uint32_t to, bool pinned)
{
	assert_true(index < process.state->n_governor);
	const Hk__GovernorStep *step = process.state->governor[index];
	assert_string_equal(step->pattern, pattern);
	assert_int_equal(step->from, from);
	assert_int_equal(step->to, to);
	assert_int_equal(step->pinned, pinned);
}

/* A site at record+stack that keeps STACKS_PER_S stacks. Returns its ceiling after three looks. */
static uint8_t ceiling_with_stacks(uint64_t stacks_per_s)
{
	struct subject site = subject("stacked", 50000);
	struct subject *all[] = {&site};
	site.site->level = HK_LEVEL_STACK;
	site.cell->stacks = 777; /* of before */
	attach();
	for (int i = 0; i < 3; i++) {
		site.cell->stacks += stacks_per_s * LOOK_S;
		run(all, 1);
	}
	return site.site->ceiling;
}

/* Each of its calls, 20 us apart, costs 304 ns with arguments and 912 ns with a stack. */
static void test_stacks_of_all_calls_cost_too_much(void **state)
{
	(void)state;
	assert_in_range(ceiling_with_stacks(50000), HK_LEVEL_COUNT, HK_LEVEL_ARGS);
}

static void test_limited_stacks_fit_the_budget(void **state)
{
	(void)state;
	assert_int_equal(ceiling_with_stacks(100), 0);
	assert_int_equal(process.state->n_governor, 0);
}

static void test_hot_site_goes_down_at_the_second_look(void **state)
{
	struct subject hot = subject("hot", 50000000), mild = subject("mild", 1000);
	struct subject *all[] = {&hot, &mild};
	(void)state;
	attach();
	run(all, 2);
	assert_int_equal(hot.site->ceiling, 0);
	run(all, 2);
	assert_int_equal(hot.site->ceiling, HK_LEVEL_COUNT);
	assert_int_equal(mild.site->ceiling, 0);
	assert_int_equal(process.state->n_governor, 1);
	expect_step(0, "libx.so.1:hot", HK_LEVEL_RECORD, HK_LEVEL_COUNT, false);
	assert_int_equal(segment_maker_header(&maker)->control_version, 2);
	assert_int_equal(segment_maker_header(&maker)->generation, 1);
	/* As long as its agent has not heard of it, it is not told again. */
	run(all, 2);
	run(all, 2);
	assert_int_equal(process.state->n_governor, 1);
}

#define MS_NS UINT64_C(1000000)

static void test_first_look_judges_the_first_ten_milliseconds(void **state)
{
	struct subject hot = subject("hot", 0), mild = subject("mild", 0);
	(void)state;
	segment_maker_header(&maker)->start.monotonic_ns = LOOK_NS - 5 * MS_NS;
	hot.cell->calls = 50000;
	mild.cell->calls = 10;
	attach();
	assert_int_equal(process.state->n_governor, 0);
	hot.cell->calls = 200000;
	now_ns = LOOK_NS + 7 * MS_NS; /* 12 ms old; 200,000 calls of 37 dispensable ns are 7.4 ms */
	hk_governor_check(&process, now_ns);
	assert_int_equal(hot.site->ceiling, HK_LEVEL_COUNT);
	assert_int_equal(mild.site->ceiling, 0);
	assert_int_equal(process.state->n_governor, 1);
	expect_step(0, "libx.so.1:hot", HK_LEVEL_RECORD, HK_LEVEL_COUNT, false);
}

static void test_first_look_leaves_pinned_sites_and_modest_ones(void **state)
{
	struct subject pinned = subject("pinned", 0), mild = subject("mild", 0);
	(void)state;
	segment_maker_header(&maker)->start.monotonic_ns = LOOK_NS - 12 * MS_NS;
	pinned.site->pinned = 1;
	pinned.cell->calls = 100000;
	mild.cell->calls = 5000; /* 0.19 ms of the 0.24 that are granted */
	attach();
	assert_int_equal(pinned.site->ceiling, 0);
	assert_int_equal(mild.site->ceiling, 0);
	assert_int_equal(process.state->n_governor, 1);
	expect_step(0, "libx.so.1:pinned", HK_LEVEL_RECORD, HK_LEVEL_RECORD, true);
}

static void test_one_busy_look_changes_nothing(void **state)
{
	struct subject burst = subject("burst", 50000000);
	struct subject *all[] = {&burst};
	(void)state;
	attach();
	for (int i = 0; i < 3; i++) {
		burst.calls_per_s = 50000000;
		run(all, 1);
		burst.calls_per_s = 0;
		run(all, 1);
	}
	assert_int_equal(burst.site->ceiling, 0);
	assert_int_equal(process.state->n_governor, 0);
}

/* Looking costs next to nothing; that a busy machine lets it wait does not count. */
static void test_waiting_for_a_processor_puts_nothing_off(void **state)
{
	struct subject hot = subject("hot", 50000000);
	struct subject *all[] = {&hot};
	(void)state;
	attach();
	taken_ns = 50000000;
	run(all, 1);
	hot.cell->calls += hot.calls_per_s;
	now_ns += 1000000000;
	hk_governor_check(&process, now_ns);
	assert_int_equal(hot.site->ceiling, HK_LEVEL_COUNT);
}

static void test_no_lower_than_needed(void **state)
{
	/* 2 % of a second are 20 ms: at 37 and 29 dispensable ns a call. */
	struct subject warm = subject("warm", 600000);
	struct subject *all[] = {&warm};
	(void)state;
	attach();
	run(all, 1);
	run(all, 1);
	assert_int_equal(warm.site->ceiling, HK_LEVEL_TIME);
	warm.site->level = HK_LEVEL_TIME;
	warm.calls_per_s = 1500000;
	run(all, 1);
	run(all, 1);
	assert_int_equal(warm.site->ceiling, HK_LEVEL_SAMPLE);
	expect_step(1, "libx.so.1:warm", HK_LEVEL_TIME, HK_LEVEL_SAMPLE, false);
}

static void test_many_sites_share_the_budget(void **state)
{
	struct subject a = subject("a", 300000), b = subject("b", 400000), c = subject("c", 1000);
	struct subject *all[] = {&a, &b, &c};
	(void)state;
	attach();
	run(all, 3);
	run(all, 3);
	/* Each alone would fit; the dearest one goes down. */
	assert_int_equal(a.site->ceiling, 0);
	assert_int_not_equal(b.site->ceiling, 0);
	assert_int_equal(c.site->ceiling, 0);
}

static void test_what_is_not_its_own_is_reported_once(void **state)
{
	struct subject pinned = subject("pinned", 50000000), memory = subject("free", 50000000);
	struct subject *all[] = {&pinned, &memory};
	(void)state;
	pinned.site->pinned = 1;
	memory.site->meaning = HK_MEANING_FREE;
	attach();
	for (int i = 0; i < 4; i++) {
		run(all, 2);
	}
	assert_int_equal(pinned.site->ceiling, 0);
	assert_int_equal(memory.site->ceiling, 0);
	assert_int_equal(process.state->n_governor, 2);
	expect_step(0, "libx.so.1:pinned", HK_LEVEL_RECORD, HK_LEVEL_RECORD, true);
	expect_step(1, "libx.so.1:free", HK_LEVEL_RECORD, HK_LEVEL_RECORD, true);
}

static void test_quiet_site_gets_its_level_back(void **state)
{
	struct subject hot = subject("hot", 50000000);
	struct subject *all[] = {&hot};
	(void)state;
	attach();
	run(all, 1);
	run(all, 1);
	hot.site->level = HK_LEVEL_COUNT;
	run(all, 1);
	run(all, 1);
	assert_int_equal(hot.site->ceiling, HK_LEVEL_COUNT); /* it would cost too much again */
	hot.calls_per_s = 100;
	run(all, 1);
	run(all, 1);
	assert_int_equal(hot.site->ceiling, 0);
	expect_step(1, "libx.so.1:hot", HK_LEVEL_COUNT, HK_LEVEL_RECORD, false);
}

static void test_without_budget_it_does_nothing(void **state)
{
	struct subject hot = subject("hot", 50000000);
	struct subject *all[] = {&hot};
	(void)state;
	segment_maker_header(&maker)->budget_ppm = 0;
	attach();
	run(all, 1);
	run(all, 1);
	assert_int_equal(hot.site->ceiling, 0);
	assert_int_equal(process.state->n_governor, 0);
}

#define GOVERNOR_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    GOVERNOR_TEST(test_hot_site_goes_down_at_the_second_look),
	    GOVERNOR_TEST(test_stacks_of_all_calls_cost_too_much),
	    GOVERNOR_TEST(test_limited_stacks_fit_the_budget),
	    GOVERNOR_TEST(test_first_look_judges_the_first_ten_milliseconds),
	    GOVERNOR_TEST(test_first_look_leaves_pinned_sites_and_modest_ones),
	    GOVERNOR_TEST(test_one_busy_look_changes_nothing),
	    GOVERNOR_TEST(test_waiting_for_a_processor_puts_nothing_off),
	    GOVERNOR_TEST(test_no_lower_than_needed),
	    GOVERNOR_TEST(test_many_sites_share_the_budget),
	    GOVERNOR_TEST(test_what_is_not_its_own_is_reported_once),
	    GOVERNOR_TEST(test_quiet_site_gets_its_level_back),
	    GOVERNOR_TEST(test_without_budget_it_does_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
