/* What tracing costs by a process's own figures: a level never costs less than the one below, and
 * the total is the sum of what the calls left behind. The sums are written out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/model/attachment.h"
#include "collector/model/process.h"
#include "collector/process/cost.h"
#include "hooks/hook.h"
#include "wire/columns.h"

static const struct hk_segment_status measured = {
    .count_cost_ps = 1000, .call_cost_ps = 40000, .record_cost_ps = 52000, .setup_ns = 7};

static const struct hk_cost_site plain = {.flags = HK_HOOK_DESCRIBED};

/* What a process of 1.2 measures besides. */
static void test_cost_depends_on_clock_stack_and_values(void **state)
{
	struct hk_segment_status status = measured;
	status.ordered_extra_ps = 8000;
	status.copy_extra_ps = 5000;
	status.value_extra_ps = 2000;
	const struct {
		struct hk_cost_site site;
		uint64_t time_ps, record_ps;
	} cases[] = {
	    {{HK_HOOK_DESCRIBED, 0}, 40000, 52000},
	    {{HK_HOOK_DESCRIBED, 3}, 40000, 58000},
	    {{HK_HOOK_DESCRIBED | HK_HOOK_SHORT, 4}, 48000, 68000},
	    {{0, 0}, 53000, 65000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(hk_cost_call_ps(&status, cases[i].site, HK_LEVEL_TIME, 0),
				 cases[i].time_ps);
		assert_int_equal(hk_cost_call_ps(&status, cases[i].site, HK_LEVEL_RECORD, 0),
				 cases[i].record_ps);
	}
}

static void test_each_level_costs_more(void **state)
{
	(void)state;
	assert_int_equal(hk_cost_call_ps(&measured, plain, HK_LEVEL_OFF, 0), 0);
	for (uint8_t level = HK_LEVEL_COUNT; level <= HK_LEVEL_STACK; level++) {
		assert_true(hk_cost_call_ps(&measured, plain, level, 0) >
			    hk_cost_call_ps(&measured, plain, (uint8_t)(level - 1), 0));
	}
}

/* What a loop of such calls took, where 52 ns were measured for a record. */
static void test_arguments_cost_what_they_took(void **state)
{
	(void)state;
	assert_in_range(hk_cost_call_ps(&measured, plain, HK_LEVEL_ARGS, 0), 190000, 220000);
}

/* Sites 3 and 9 of a process, a thousand timed calls each. Of site 9 STACKS stacks were kept. */
static uint64_t total_ns(uint32_t level_of_9, uint64_t stacks)
{
	Hk__Site records = HK__SITE__INIT, other = HK__SITE__INIT;
	struct hk_columns_builder builder = {0};
	Hk__Process state = HK__PROCESS__INIT;
	struct hk_attachment segment = {.status = measured};
	struct hk_process process = {.state = &state, .segment = &segment};
	uint64_t timed = 1000;
	uint32_t bucket = 7;

	records.id = 3;
	records.flags = other.flags = HK_HOOK_DESCRIBED;
	records.level = HK_LEVEL_RECORD;
	other.id = 9;
	other.level = level_of_9;
	for (uint32_t site = 3; site <= 9; site += 6) {
		const struct hk_columns_row row = {
		    .site = site,
		    .calls = timed,
		    .stacks = site == 9 ? stacks : 0,
		    .bucket = &bucket,
		    .count = &timed,
		    .buckets = 1,
		};
		assert_int_equal(hk_columns_add(&builder, &row), 0);
	}
	state.sites = (Hk__Site *[]){&records, &other};
	state.n_sites = 2;
	state.cells = hk_columns_take(&builder);
	state.records = 2000;
	uint64_t total = hk_cost_total_ns(&process);
	hk__cells__free_unpacked(state.cells, NULL);
	return total;
}

static void test_total_knows_which_calls_kept_arguments(void **state)
{
	(void)state;
	assert_int_equal(total_ns(HK_LEVEL_RECORD, 0), 7 + 2000 * 52);
	uint64_t arguments_ps = hk_cost_call_ps(&measured, plain, HK_LEVEL_ARGS, 0);
	assert_int_equal(total_ns(HK_LEVEL_ARGS, 0), 7 + 1000 * 52 + arguments_ps);
	uint64_t stack_ps = hk_cost_call_ps(&measured, plain, HK_LEVEL_STACK, 0);
	assert_int_equal(total_ns(HK_LEVEL_STACK, 1000),
			 total_ns(HK_LEVEL_ARGS, 0) + stack_ps - arguments_ps);
}

/* A limit leaves calls without a stack. A hostile segment may count more stacks than calls. */
static void test_total_counts_stacks_that_were_kept(void **state)
{
	(void)state;
	uint64_t all = total_ns(HK_LEVEL_STACK, 1000), none = total_ns(HK_LEVEL_STACK, 0);
	assert_int_equal(none, total_ns(HK_LEVEL_ARGS, 0));
	assert_int_equal(total_ns(HK_LEVEL_STACK, 250), none + (all - none) / 4);
	assert_int_equal(total_ns(HK_LEVEL_STACK, UINT64_MAX), all);
}

/* A record takes 42 ns in a row and 18 beside other work, 1.4 times 42 when the caches were used
 * for other things. */
static void test_cost_depends_on_the_gap(void **state)
{
	const struct hk_segment_status status = {.count_cost_ps = 1000,
						 .call_cost_ps = 25000,
						 .record_cost_ps = 30000,
						 .row_extra_ps = 12000};
	const struct {
		uint64_t gap_ns, record_ps;
	} cases[] = {{0, 42000},    {200, 42000},  {600, 33000},  {1000, 24000},
		     {2000, 24000}, {3000, 41400}, {4000, 58800}, {1u << 30, 58800}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t gap_ns = cases[i].gap_ns;
		assert_int_equal(hk_cost_call_ps(&status, plain, HK_LEVEL_RECORD, gap_ns),
				 cases[i].record_ps);
		assert_int_equal(hk_cost_call_ps(&status, plain, HK_LEVEL_COUNT, gap_ns), 1000);
	}
}

/* 1,000 records of a process that ran for 3 us a call. Its threads waited in calls for far longer.
 */
static void test_total_takes_the_gap_from_processor_time(void **state)
{
	Hk__Site site = HK__SITE__INIT;
	struct hk_columns_builder builder = {0};
	Hk__Process known = HK__PROCESS__INIT;
	struct hk_attachment segment = {.status = measured};
	struct hk_process process = {.state = &known, .segment = &segment};
	uint64_t timed = 1000;
	uint32_t bucket = 7;
	const struct hk_columns_row row = {.site = 1,
					   .calls = timed,
					   .self_ns = 60000000,
					   .bucket = &bucket,
					   .count = &timed,
					   .buckets = 1};

	(void)state;
	site.id = 1;
	site.flags = HK_HOOK_DESCRIBED;
	site.level = HK_LEVEL_RECORD;
	assert_int_equal(hk_columns_add(&builder, &row), 0);
	known.sites = (Hk__Site *[]){&site};
	known.n_sites = 1;
	known.cells = hk_columns_take(&builder);
	known.records = timed;
	known.cpu_ns = 3000000;
	assert_int_equal(hk_cost_total_ns(&process),
			 7 + timed * 62400 / 1000); /* 52, and half of the way to 72.8 */
	known.cpu_ns = 0;
	assert_int_equal(hk_cost_total_ns(&process), 7 + timed * 52);
	hk__cells__free_unpacked(known.cells, NULL);
}

static void test_total_has_the_looks(void **state)
{
	Hk__Process none = HK__PROCESS__INIT;
	struct hk_attachment segment = {.status = measured};
	struct hk_process process = {.state = &none, .segment = &segment};

	(void)state;
	segment.status.looks_ns = 5000;
	assert_int_equal(hk_cost_total_ns(&process), 7 + 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_cost_depends_on_clock_stack_and_values),
	    cmocka_unit_test(test_each_level_costs_more),
	    cmocka_unit_test(test_arguments_cost_what_they_took),
	    cmocka_unit_test(test_total_knows_which_calls_kept_arguments),
	    cmocka_unit_test(test_cost_depends_on_the_gap),
	    cmocka_unit_test(test_total_takes_the_gap_from_processor_time),
	    cmocka_unit_test(test_total_counts_stacks_that_were_kept),
	    cmocka_unit_test(test_total_has_the_looks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
