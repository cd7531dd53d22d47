/* findings.h: all findings of a report. Locked by the caller. */
#ifndef HK_REPORT_FINDINGS_FINDINGS_H
#define HK_REPORT_FINDINGS_FINDINGS_H

#include "report/findings/finding.h"

/* All that REPORT has evidence for; free with hk_verdicts_fini. -ENOMEM. */
int hk_verdicts_init(struct hk_verdicts *verdicts, const struct hk_report *report);

#endif
