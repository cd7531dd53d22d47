/* What a report says of that which was not seen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "report/build/build.h"
#include "report/write/coverage_write.h"
#include "ring/segment.h"
#include "snapshot_maker.h"

static struct maker_process *start(struct maker *maker, Hk__Role role, const char *hooks)
{
	maker_init(maker);
	struct maker_process *process = maker_process(maker, 0, role, 0, 1000);
	process->message.hooks = (char *)hooks;
	process->coverage.objects = 5;
	process->coverage.hooks = 3;
	return process;
}

static struct hk_report *end(struct maker *maker)
{
	struct hk_report *report;
	assert_int_equal(hk_report_new(maker_snapshot(maker), &report), 0);
	maker_fini(maker);
	return report;
}

static void expect_notes(struct maker *maker, const char *notes)
{
	struct hk_report *report = end(maker);
	assert_string_equal(report->processes[0].coverage, notes);
	hk_report_free(report);
}

static void test_nothing_hooked_says_why(void **state)
{
	struct maker maker;
	(void)state;
	start(&maker, HK__ROLE__ROLE_MAIN, "libx.so:f");
	expect_notes(&maker, "nothing hooked: no object calls what 'libx.so:f' names");

	start(&maker, HK__ROLE__ROLE_HELPER, "x.hooks")->coverage.hooks = 0;
	expect_notes(&maker, "nothing hooked: no hook of 'x.hooks' is in force");

	struct maker_process *process = start(&maker, HK__ROLE__ROLE_MAIN, "auto");
	Hk__Refusal refusal = HK__REFUSAL__INIT, *refusals[] = {&refusal};
	refusal.reason = HK_REFUSED_PROTECTED;
	refusal.slots = process->coverage.slots_found = 4;
	process->coverage.refusals = refusals;
	process->coverage.n_refusals = 1;
	expect_notes(&maker, "nothing hooked: every slot was refused; 4 slots on protected pages");
}

static void test_slots_that_nobody_used_are_told_of_main_processes(void **state)
{
	struct maker maker;
	(void)state;
	struct maker_process *process = start(&maker, HK__ROLE__ROLE_MAIN, "auto");
	process->coverage.slots_found = process->coverage.slots_patched = 2;
	maker_cell(process, "io", "read", "a", HK_LEVEL_COUNT);
	expect_notes(&maker, "no call went through the slots patched");

	process = start(&maker, HK__ROLE__ROLE_MAIN, "auto");
	process->coverage.slots_found = process->coverage.slots_patched = 2;
	maker_cell(process, "io", "read", "a", HK_LEVEL_COUNT)->calls = 1;
	expect_notes(&maker, "");

	process = start(&maker, HK__ROLE__ROLE_LAUNCHER, "auto");
	process->coverage.slots_found = process->coverage.slots_patched = 2;
	expect_notes(&maker, "");
}

static void test_what_is_not_known_yet_is_no_finding(void **state)
{
	struct maker maker;
	(void)state;
	start(&maker, HK__ROLE__ROLE_MAIN, "auto")->coverage.objects_pending = 1;
	expect_notes(&maker, "1 objects not relocated yet");

	start(&maker, HK__ROLE__ROLE_MAIN, "auto")->message.agent =
	    HK__AGENT_STATE__AGENT_INCOMPATIBLE;
	expect_notes(&maker, "");
}

static void test_every_reason_has_its_count(void **state)
{
	static const char *const keys[] = {"pending", "denied",	 "thunks",  "protected", "memory",
					   "data",    "foreign", "pointer", "variant"};
	struct maker maker;
	(void)state;
	struct maker_process *process = start(&maker, HK__ROLE__ROLE_MAIN, "auto");
	Hk__Refusal refusal[11], *refusals[11];
	for (uint32_t i = 0; i < 11; i++) {
		hk__refusal__init(&refusal[i]);
		refusal[i].reason = i < 10 ? i : 77; /* one of no version that fits */
		refusal[i].slots = i + 1;
		refusals[i] = &refusal[i];
	}
	process->coverage.refusals = refusals;
	process->coverage.n_refusals = 11;
	process->coverage.slots_found = 71;
	process->coverage.slots_patched = 5;
	process->coverage.symbols_escaped = 6;
	struct hk_report *report = end(&maker);
	json_t *row = hk_coverage_json(&report->processes[0]);
	json_t *refused = json_object_get(row, "refused");
	for (size_t i = 0; i < 9; i++) {
		assert_int_equal(json_integer_value(json_object_get(refused, keys[i])), i + 1);
	}
	assert_int_equal(json_integer_value(json_object_get(refused, "reason 9")), 10);
	assert_int_equal(json_object_size(refused), 10);
	assert_int_equal(json_integer_value(json_object_get(row, "slots_refused")), 66);
	assert_int_equal(json_integer_value(json_object_get(row, "slots_found")), 71);
	assert_int_equal(json_integer_value(json_object_get(row, "symbols_escaped")), 6);
	assert_non_null(strstr(report->processes[0].coverage,
			       "8 addresses that the program may compare: describe these "
			       "functions in a hooks file"));
	assert_non_null(strstr(report->processes[0].coverage, "10 slots refused for a reason"));
	json_decref(row);
	hk_report_free(report);
}

static void expect_empty(struct maker *maker, const char *reason)
{
	struct hk_report *report = end(maker);
	char *text = NULL, wanted[256];
	size_t size;
	FILE *output = open_memstream(&text, &size);
	hk_coverage_write_empty(report, output);
	fclose(output);
	snprintf(wanted, sizeof(wanted),
		 "no call was seen%s: hookcli doctor -- CMD shows what the agent finds\n", reason);
	assert_string_equal(text, wanted);
	free(text);
	hk_report_free(report);
}

static void test_empty_table_says_why(void **state)
{
	struct maker maker;
	(void)state;
	maker_init(&maker);
	expect_empty(&maker, ": no process loaded the agent");

	/* The rank's main process speaks, not the launcher before it. */
	start(&maker, HK__ROLE__ROLE_LAUNCHER, "other")->message.rank = -1;
	struct maker_process *process = maker_process(&maker, 0, HK__ROLE__ROLE_MAIN, 0, 1000);
	process->message.hooks = (char *)"mine";
	process->coverage.hooks = 1;
	expect_empty(&maker, ": nothing hooked: no object calls what 'mine' names");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nothing_hooked_says_why),
	    cmocka_unit_test(test_slots_that_nobody_used_are_told_of_main_processes),
	    cmocka_unit_test(test_what_is_not_known_yet_is_no_finding),
	    cmocka_unit_test(test_every_reason_has_its_count),
	    cmocka_unit_test(test_empty_table_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
