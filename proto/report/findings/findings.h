/* findings.h: all findings of a report. Locked by the caller. */
#ifndef HK_REPORT_FINDINGS_FINDINGS_H
#define HK_REPORT_FINDINGS_FINDINGS_H

#include "report/finding/finding.h"

/* Makes all findings that REPORT has evidence for. The caller frees them with hk_findings_fini.
 * Returns 0 or -ENOMEM. */
int hk_findings_init(struct hk_findings *findings, const struct hk_report *report);

/* Makes those findings that need no calls, so that a rollup has them: ranks that died or hang, and
 * numbers that should agree, in this order. The caller frees them. Returns 0 or -ENOMEM. */
int hk_findings_init_urgent(struct hk_findings *findings, const struct hk_report *report);

#endif
