/* Findings of a job with too many processes are refused, and counted once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <utlist.h>

#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/trigger/finding_watch.h"
#include "collector/trigger/watch.h"

static void huge_job_is_refused_once(void **state)
{
	struct hk_plan plan = {.count = 1};
	const char *why;
	assert_int_equal(hk_condition_parse("finding=late-rank", &plan.conditions[0], &why), 0);
	struct hk_watch *watch = hk_watch_new(plan.conditions, plan.count);
	struct hk_finding_watch findings = {0};
	Hk__Triggers triggers = HK__TRIGGERS__INIT;
	Hk__Job message = HK__JOB__INIT;
	struct hk_job job = {.state = &message};
	struct hk_process *processes = calloc(HK_FINDING_WATCH_PROCESSES + 1, sizeof(*processes));
	(void)state;
	message.triggers = &triggers;
	assert_non_null(processes);
	for (size_t i = 0; i <= HK_FINDING_WATCH_PROCESSES; i++) {
		DL_APPEND(job.processes, &processes[i]);
	}
	hk_watch_begin(watch);
	for (uint64_t now_ns = 1; now_ns < 4; now_ns++) {
		hk_finding_watch_look(&findings, &job, &plan, watch, now_ns);
	}
	assert_int_equal(triggers.refused, 1);
	assert_string_equal(triggers.refused_why,
			    "finding=late-rank: findings are not looked for in a running job of "
			    "more than 2048 processes");
	assert_false(hk_watch_saw(watch, 0)->known);
	free(triggers.refused_why);
	free(processes);
	hk_watch_free(watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(huge_job_is_refused_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
