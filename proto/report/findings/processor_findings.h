/* processor_findings.h: jobs with more ranks than free processors. Locked by the caller. */
#ifndef HK_REPORT_FINDINGS_PROCESSOR_FINDINGS_H
#define HK_REPORT_FINDINGS_PROCESSOR_FINDINGS_H

#include "report/finding/finding.h"

/* Adds at most one finding, of kind "oversubscribed". */
void hk_findings_add_processors(const struct hk_report *report, struct hk_findings *findings);

#endif
