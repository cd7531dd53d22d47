/* error_findings.h: functions that fail again and again, as in loops that try once more. Pure
 * functions of the report, any thread. */
#ifndef HK_REPORT_USAGE_ERROR_FINDINGS_H
#define HK_REPORT_USAGE_ERROR_FINDINGS_H

#include "report/build/group.h"
#include "report/finding/finding.h"

/* GROUPS are those of REPORT by function. Adds a finding of kind "retried-errors" about the
 * function that takes most time of those whose calls mostly fail. */
void hk_findings_add_errors(const struct hk_report *report, const struct hk_groups *groups,
			    struct hk_findings *findings);

#endif
