/* What tracing costs by a process's own figures: a level never costs less than the one below, and
 * the total is the sum of what the calls left behind. The sums are written out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/cost.h"
#include "hooks/hook.h"

static const struct hk_segment_status measured = {
    .count_cost_ps = 1000, .call_cost_ps = 40000, .record_cost_ps = 52000, .setup_ns = 7};

static void test_each_level_costs_more(void **state)
{
	(void)state;
	assert_int_equal(hk_cost_call_ps(&measured, HK_LEVEL_OFF), 0);
	for (uint8_t level = HK_LEVEL_COUNT; level <= HK_LEVEL_ARGS; level++) {
		assert_true(hk_cost_call_ps(&measured, level) >
			    hk_cost_call_ps(&measured, (uint8_t)(level - 1)));
	}
}

/* What a loop of such calls took, where 52 ns were measured for a record. */
static void test_arguments_cost_what_they_took(void **state)
{
	(void)state;
	assert_in_range(hk_cost_call_ps(&measured, HK_LEVEL_ARGS), 190000, 220000);
}

/* Sites 3 and 9 of a process, a thousand timed calls each. */
static uint64_t total_ns(uint32_t level_of_9)
{
	Hk__Site records = HK__SITE__INIT, other = HK__SITE__INIT;
	Hk__Cell cells[2] = {HK__CELL__INIT, HK__CELL__INIT};
	Hk__Process state = HK__PROCESS__INIT;
	struct hk_process process = {.state = &state, .status = measured};
	uint64_t timed = 1000;

	records.id = 3;
	records.level = HK_LEVEL_RECORD;
	other.id = 9;
	other.level = level_of_9;
	for (unsigned i = 0; i < 2; i++) {
		cells[i].calls = timed;
		cells[i].n_bucket_count = 1;
		cells[i].bucket_count = &timed;
	}
	/* Cells need not stand in the order of their sites. */
	cells[0].site = 9;
	cells[1].site = 3;
	state.sites = (Hk__Site *[]){&records, &other};
	state.n_sites = 2;
	state.cells = (Hk__Cell *[]){&cells[0], &cells[1]};
	state.n_cells = 2;
	state.records = 2000;
	return hk_cost_total_ns(&process);
}

static void test_total_knows_which_calls_kept_arguments(void **state)
{
	(void)state;
	assert_int_equal(total_ns(HK_LEVEL_RECORD), 7 + 2000 * 52);
	uint64_t arguments_ps = hk_cost_call_ps(&measured, HK_LEVEL_ARGS);
	assert_int_equal(total_ns(HK_LEVEL_ARGS), 7 + 1000 * 52 + arguments_ps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_each_level_costs_more),
	    cmocka_unit_test(test_arguments_cost_what_they_took),
	    cmocka_unit_test(test_total_knows_which_calls_kept_arguments),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
