/* Commands in advice: they name the job, as one word of a shell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/finding/commands.h"
#include "report/finding/finding.h"

static void expect_named(const char *text, const char *wanted)
{
	char *named = hk_commands_name(text, "slow");
	assert_string_equal(named, wanted);
	free(named);
}

static void test_commands_that_look_at_a_job_name_it(void **state)
{
	(void)state;
	expect_named("hookcli stacks --ranks 3", "hookcli stacks slow --ranks 3");
	expect_named("hookcli report --by step; hookcli log", "hookcli report slow --by step; "
							      "hookcli log slow");
	expect_named("look with hookcli top, or hookcli", "look with hookcli top slow, or hookcli");
	expect_named("", "");
}

static void test_commands_about_a_further_run_do_not(void **state)
{
	(void)state;
	expect_named("run with --level 'x=record+stack', then hookcli report --by stack",
		     "run with --level 'x=record+stack', then hookcli report --by stack");
	expect_named("hookcli run --hooks libc", "hookcli run --hooks libc");
	expect_named("hookcli reports", "hookcli reports");
}

static void expect_job(const char *id, const char *wanted)
{
	char *job = hk_commands_job(id);
	if (wanted) {
		assert_string_equal(job, wanted);
	} else {
		assert_null(job);
	}
	free(job);
}

static void test_a_name_is_one_harmless_word(void **state)
{
	(void)state;
	expect_job("lmp-48213.0", "lmp-48213.0");
	expect_job("a b;$(x)", "'a b;$(x)'");
	expect_job("a'b", NULL);
	expect_job("a\033[2Jb", NULL);
	expect_job("--json", NULL);
	expect_job("", NULL);
}

static void test_advice_of_a_list_names_its_job(void **state)
{
	struct hk_findings findings;
	(void)state;
	hk_findings_begin(&findings, "night run");
	hk_finding_add(&findings, HK_TOPIC_TIME, HK_WEIGHT_FINDING, "it is slow");
	hk_finding_advise(&findings, "hookcli report --by %s", "wait");
	assert_int_equal(findings.error, 0);
	assert_string_equal(findings.list[0].advice, "hookcli report 'night run' --by wait");
	hk_findings_fini(&findings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_commands_that_look_at_a_job_name_it),
	    cmocka_unit_test(test_commands_about_a_further_run_do_not),
	    cmocka_unit_test(test_a_name_is_one_harmless_word),
	    cmocka_unit_test(test_advice_of_a_list_names_its_job),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
