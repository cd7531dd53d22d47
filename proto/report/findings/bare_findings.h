/* bare_findings.h: adds the programs that ran without the agent, one sentence for each reason. */
#ifndef HK_REPORT_FINDINGS_BARE_FINDINGS_H
#define HK_REPORT_FINDINGS_BARE_FINDINGS_H

#include "report/finding/finding.h"

void hk_findings_add_bare(const struct hk_report *report, struct hk_findings *findings);

#endif
