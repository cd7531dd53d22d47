/* growth_findings.h: memory of ranks that grows until the end. Locked by the caller. */
#ifndef HK_REPORT_FINDINGS_GROWTH_FINDINGS_H
#define HK_REPORT_FINDINGS_GROWTH_FINDINGS_H

#include "report/finding/finding.h"

/* Adds a finding of kind "memory-growth" for each kind of memory that grows on a rank: the live
 * bytes rise in each quarter of the time that follows the first fifth, and a line through them
 * fits. */
void hk_findings_add_growth(const struct hk_report *report, struct hk_findings *findings);

#endif
