/* unseen_findings.h: time of a job that its hooks do not explain, and what to turn on to see it.
 * Pure functions of the report, any thread. */
#ifndef HK_REPORT_USAGE_UNSEEN_FINDINGS_H
#define HK_REPORT_USAGE_UNSEEN_FINDINGS_H

#include "report/build/group.h"
#include "report/finding/finding.h"

/* GROUPS are those of REPORT by function. Adds facts about ranks that sleep, and about Python
 * programs whose own functions take most of the time. */
void hk_findings_add_unseen(const struct hk_report *report, const struct hk_groups *groups,
			    struct hk_findings *findings);

#endif
