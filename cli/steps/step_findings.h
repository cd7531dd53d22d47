/* step_findings.h: adds the ranks from which on steps take longer to the findings of a job. */
#ifndef HK_CLI_STEPS_STEP_FINDINGS_H
#define HK_CLI_STEPS_STEP_FINDINGS_H

#include "cli/steps/steps.h"
#include "report/finding/finding.h"

/* Adds a finding of kind "fail-slow" for each shift of STEPS (shifts.h), the steps of REPORT's job,
 * which is SNAPSHOT's with its files in DIRECTORY. Nothing is added about a time in which records
 * are missing or the levels of functions changed, or if the clocks' error is as large as the
 * change. If the rank waits for a processor instead of working longer, the confidence is low.
 * Returns 0 or -errno. */
int hk_step_findings_add(const struct hk_steps *steps, const Hk__Snapshot *snapshot,
			 const char *directory, const struct hk_report *report,
			 struct hk_findings *findings);

#endif
