/* Conditions of --trigger: what is read, what is refused and with which hint, and what a plan is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "hooks/hook.h"
#include "trigger/condition.h"
#include "trigger/plan.h"

static struct hk_condition read_one(const char *text)
{
	struct hk_condition condition;
	const char *why = "";
	if (hk_condition_parse(text, &condition, &why) != 0) {
		fail_msg("%s: %s", text, why);
	}
	return condition;
}

static void latency_is_read_with_any_unit(void **state)
{
	static const struct {
		const char *text;
		enum hk_condition_statistic statistic;
		double ns;
	} cases[] = {
	    {"MPI_Allreduce p99>10ms", HK_CONDITION_P99, 10e6},
	    {"MPI_Allreduce  p99.9 > 1.5s", HK_CONDITION_P999, 1.5e9},
	    {" MPI_Allreduce max>300us ", HK_CONDITION_MAX, 300e3},
	    {"MPI_Allreduce mean>1m", HK_CONDITION_MEAN, 60e9},
	    {"MPI_Allreduce p50 >7ns", HK_CONDITION_P50, 7},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hk_condition condition = read_one(cases[i].text);
		assert_int_equal(condition.kind, HK_CONDITION_LATENCY);
		assert_int_equal(condition.statistic, cases[i].statistic);
		assert_true(condition.limit == cases[i].ns);
		assert_string_equal(condition.pattern, "MPI_Allreduce");
	}
}

static void other_kinds_are_read(void **state)
{
	(void)state;
	struct hk_condition condition = read_one("error");
	assert_int_equal(condition.kind, HK_CONDITION_ERROR);
	assert_string_equal(condition.pattern, "*");
	assert_true(condition.limit == 0);
	condition = read_one("libc.so*:read errors>5/s");
	assert_int_equal(condition.kind, HK_CONDITION_ERROR);
	assert_string_equal(condition.pattern, "libc.so*:read");
	assert_true(condition.limit == 5);
	condition = read_one("step>200ms");
	assert_int_equal(condition.kind, HK_CONDITION_STEP);
	assert_true(condition.limit == 200e6);
	condition = read_one("step > 1.5x");
	assert_int_equal(condition.kind, HK_CONDITION_STEP_FACTOR);
	assert_true(condition.limit == 1.5);
	condition = read_one("finding=fail-slow");
	assert_int_equal(condition.kind, HK_CONDITION_FINDING);
	assert_string_equal(condition.finding, "fail-slow");
	assert_int_equal(read_one("signal").signal, 0);
	assert_int_equal(read_one("signal=11").signal, 11);
}

static void wrong_conditions_are_refused_with_a_hint(void **state)
{
	static const struct {
		const char *text, *hint;
	} cases[] = {
	    {"", "FUNCTION p99>10ms"},
	    {"MPI_Send", "FUNCTION p99>10ms"},
	    {"MPI_Send p98>1ms", "p50, p90, p99"},
	    {"MPI_Send p99", "such as 10ms"},
	    {"MPI_Send p99>", "such as 10ms"},
	    {"MPI_Send p99>1", "such as 10ms"},
	    {"MPI_Send p99>0ms", "such as 10ms"},
	    {"MPI_Send p99>-1ms", "such as 10ms"},
	    {"MPI_Send p99>nanms", "such as 10ms"},
	    {"MPI_Send p99>infs", "such as 10ms"},
	    {"MPI_Send p99=1ms", "such as 10ms"},
	    {"MPI_Send p99>1ms now", "FUNCTION p99>10ms"},
	    {"> p99>1ms", "one function in front"},
	    {"step>1x", "step>1.5x"},
	    {"step", "step>1.5x"},
	    {"step=1ms", "step>1.5x"},
	    {"error>5", "error>5/s"},
	    {"error 5", "error>5/s"},
	    {"signal=0", "1 to 64"},
	    {"signal=65", "1 to 64"},
	    {"signal=9x", "1 to 64"},
	    {"signal 9", "1 to 64"},
	    {"finding=slow", "fail-slow"},
	    {"finding", "fail-slow"},
	};
	char longest[2 * HK_CONDITION_BYTES];
	struct hk_condition condition;
	const char *why = "";
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(hk_condition_parse(cases[i].text, &condition, &why), -EINVAL);
		if (!strstr(why, cases[i].hint)) {
			fail_msg("%s: %s", cases[i].text, why);
		}
	}
	memset(longest, 'f', sizeof(longest));
	memcpy(longest + 130, " error", sizeof(" error"));
	assert_int_equal(hk_condition_parse(longest, &condition, &why), -EINVAL);
	longest[130] = 'f';
	longest[sizeof(longest) - 1] = '\0';
	assert_int_equal(hk_condition_parse(longest, &condition, &why), -EINVAL);
}

static void what_was_seen_names_value_and_limit(void **state)
{
	char saw[HK_CONDITION_SAW_BYTES];
	(void)state;
	struct hk_condition condition = read_one("MPI_Allreduce p99>10ms");
	assert_true(hk_condition_holds(&condition, 10.1e6));
	assert_false(hk_condition_holds(&condition, 10e6));
	assert_string_equal(hk_condition_print(&condition, 21.3e6, saw), "p99 21.3 ms > 10.0 ms");
	condition = read_one("step>1.5x");
	assert_string_equal(hk_condition_print(&condition, 2.25, saw),
			    "step of 2.25 > 1.50 times the median so far");
	condition = read_one("error");
	assert_true(hk_condition_holds(&condition, 0.1));
	condition = read_one("signal");
	assert_string_equal(hk_condition_print(&condition, 11, saw), "signal 11");
	assert_string_equal(hk_condition_print(&condition, 0, saw), "out of memory");
}

static void plan_survives_its_message(void **state)
{
	const struct hk_plan_options options = {.conditions = "error,MPI_* max>1s,signal",
						.keep = "30s",
						.raise = "0s",
						.level = "record+stack",
						.size = "1M"};
	struct hk_plan plan, again;
	struct hk_plan_message message;
	char why[HK_PLAN_WHY_BYTES];
	(void)state;
	assert_int_equal(hk_plan_parse(&options, &plan, why), 0);
	hk_plan_write(&plan, &message);
	assert_int_equal(hk_plan_read(&message.message, &again), 0);
	assert_int_equal(again.count, 3);
	assert_string_equal(again.conditions[1].text, "MPI_* max>1s");
	assert_true(again.keep_ns == UINT64_C(30000000000) && again.raise_ns == 0 &&
		    again.most_bytes == 1u << 20 && again.level == HK_LEVEL_STACK);
	/* A client may send anything. */
	message.message.level = 3;
	assert_int_equal(hk_plan_read(&message.message, &again), -EINVAL);
	message.message.level = 0;
	message.message.keep_ns = UINT64_MAX;
	assert_int_equal(hk_plan_read(&message.message, &again), -EINVAL);
	message.message.keep_ns = 1;
	message.texts[2] = (char *)"rubbish";
	assert_int_equal(hk_plan_read(&message.message, &again), -EINVAL);
	message.message.n_conditions = HK_PLAN_CONDITIONS + 1;
	assert_int_equal(hk_plan_read(&message.message, &again), -EINVAL);
}

static void wrong_plan_names_its_option(void **state)
{
	static const struct {
		struct hk_plan_options options;
		const char *words;
	} cases[] = {
	    {{.conditions = "error,step"}, "--trigger 'step'"},
	    {{.conditions = "error,error,error,error,error,error,error,error,error"}, "at most 8"},
	    {{.keep = "0s"}, "--trigger-keep '0s'"},
	    {{.keep = "10M"}, "--trigger-keep '10M'"},
	    {{.raise = "3601s"}, "--trigger-for '3601s'"},
	    {{.level = "time"}, "--trigger-level 'time'"},
	    {{.level = "record+stack:5/s"}, "--trigger-level"},
	    {{.size = "0"}, "--trigger-size '0'"},
	};
	char why[HK_PLAN_WHY_BYTES];
	struct hk_plan plan;
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(hk_plan_parse(&cases[i].options, &plan, why), -EINVAL);
		if (!strstr(why, cases[i].words)) {
			fail_msg("%s: %s", cases[i].words, why);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(latency_is_read_with_any_unit),
	    cmocka_unit_test(other_kinds_are_read),
	    cmocka_unit_test(wrong_conditions_are_refused_with_a_hint),
	    cmocka_unit_test(what_was_seen_names_value_and_limit),
	    cmocka_unit_test(plan_survives_its_message),
	    cmocka_unit_test(wrong_plan_names_its_option),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
