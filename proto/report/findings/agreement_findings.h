/* agreement_findings.h: adds ranks whose parameters, gradients or inputs differ from the others'.
 */
#ifndef HK_REPORT_FINDINGS_AGREEMENT_FINDINGS_H
#define HK_REPORT_FINDINGS_AGREEMENT_FINDINGS_H

#include "report/finding/finding.h"

/* Adds a sentence for each group of values that was compared. The earliest difference comes first.
 */
void hk_findings_add_agreements(const struct hk_report *report, struct hk_findings *findings);

#endif
