/* start_findings.h: jobs whose time goes to starting MPI. Locked by the caller. */
#ifndef HK_REPORT_USAGE_START_FINDINGS_H
#define HK_REPORT_USAGE_START_FINDINGS_H

#include "report/build/group.h"
#include "report/finding/finding.h"

/* GROUPS are those of REPORT by function. Adds a finding of kind "start-up". */
void hk_findings_add_start(const struct hk_report *report, const struct hk_groups *groups,
			   struct hk_findings *findings);

#endif
