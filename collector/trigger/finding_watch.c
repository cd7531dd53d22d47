#include "collector/trigger/finding_watch.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/clock.h"
#include "collector/lifecycle/job_sum.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/trigger/fired.h"
#include "collector/trigger/watch.h"
#include "report/build/build.h"
#include "report/findings/findings.h"

#define LOOK_NS UINT64_C(2000000000)
#define SPACING 50u /* a look takes at most 1/50 of the time */

/* Returns the first condition of PLAN about a finding of a report, or NULL. */
static const struct hk_condition *wanted(const struct hk_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		if (hk_watch_is_report_finding(&plan->conditions[i])) {
			return &plan->conditions[i];
		}
	}
	return NULL;
}

/* Returns whether a look at JOB would take too long, and tells once that CONDITION is refused. */
static bool is_too_much(struct hk_finding_watch *findings, struct hk_job *job,
			const struct hk_condition *condition)
{
	const struct hk_cause cause = {.condition = condition->text, .rank = -1};
	const struct hk_process *process;
	size_t count = 0;
	DL_FOREACH (job->processes, process) {
		count++;
	}
	if (count > HK_FINDING_WATCH_PROCESSES && !findings->too_many) {
		findings->too_many = true;
		hk_fired_refuse(job, &cause,
				"findings are not looked for in a running job of more "
				"than 2048 processes");
	}
	return count > HK_FINDING_WATCH_PROCESSES;
}

/* Returns the first finding of KIND that suggests a change of the job, or NULL. */
static const struct hk_finding *find(const struct hk_findings *findings, const char *kind)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct hk_finding *finding = &findings->list[i];
		if (finding->weight == HK_WEIGHT_FINDING && strcmp(finding->kind, kind) == 0) {
			return finding;
		}
	}
	return NULL;
}

static void note_all(const struct hk_findings *findings, const struct hk_plan *plan,
		     struct hk_watch *watch)
{
	for (size_t i = 0; i < plan->count; i++) {
		const struct hk_condition *condition = &plan->conditions[i];
		if (hk_watch_is_report_finding(condition)) {
			const struct hk_finding *found = find(findings, condition->finding);
			bool ranked = found && found->rank_count > 0;
			hk_watch_note_finding(watch, i, found != NULL,
					      ranked ? found->ranks[0] : -1);
		}
	}
}

static int look(struct hk_job *job, const struct hk_plan *plan, struct hk_watch *watch)
{
	struct hk_report *report;
	struct hk_findings findings;
	Hk__Snapshot snapshot;
	int r = hk_job_snapshot(job, &snapshot);
	if (r < 0) {
		return r;
	}
	r = hk_report_new(&snapshot, &report);
	free(snapshot.processes);
	if (r < 0) {
		return r;
	}
	r = hk_findings_init(&findings, report);
	if (r == 0) {
		note_all(&findings, plan, watch);
		hk_findings_fini(&findings);
	}
	hk_report_free(report);
	return r;
}

void hk_finding_watch_look(struct hk_finding_watch *findings, struct hk_job *job,
			   const struct hk_plan *plan, struct hk_watch *watch, uint64_t now_ns)
{
	const struct hk_condition *condition = wanted(plan);
	if (now_ns < findings->due_ns || !condition || is_too_much(findings, job, condition)) {
		return;
	}
	uint64_t begin_ns = hk_clock_monotonic_ns();
	/* Without memory the next look tries again. */
	(void)look(job, plan, watch);
	uint64_t wait = (hk_clock_monotonic_ns() - begin_ns) * SPACING;
	findings->due_ns = now_ns + (wait > LOOK_NS ? wait : LOOK_NS);
}
