/* wait_findings.h: adds what the ranks of a running job wait for each other in collectives. Locked
 * by the caller. */
#ifndef HK_REPORT_FINDINGS_WAIT_FINDINGS_H
#define HK_REPORT_FINDINGS_WAIT_FINDINGS_H

#include <stdbool.h>

#include "report/finding/finding.h"

/* Returns whether FINDINGS already say that the others wait for RANK, or why it comes late. */
bool hk_findings_explain_rank(const struct hk_findings *findings, int32_t rank);

/* Adds a finding of kind "awaited-rank" if most of the waits in collectives so far are for one
 * rank, take a part of the ranks' time that matters, and are not explained yet. Nothing of a job
 * that has ended: its records say more. */
void hk_findings_add_awaited(const struct hk_report *report, struct hk_findings *findings);

/* Adds how far apart the ranks of a running job enter collectives, and which of these were not
 * matched. */
void hk_findings_add_skew(const struct hk_report *report, struct hk_findings *findings);

#endif
