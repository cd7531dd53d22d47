/* wait_findings.h: adds the rank that the others waited for most to the findings of a job. */
#ifndef HK_CLI_WAITS_WAIT_FINDINGS_H
#define HK_CLI_WAITS_WAIT_FINDINGS_H

#include "cli/waits/waits.h"
#include "report/finding/finding.h"

/* Adds a finding of kind "awaited-rank" if most of the WAITS of REPORT's job are for one rank, and
 * take a part of the ranks' time that matters, and if FINDINGS do not say already why it is late.
 * In a job whose ranks are alike, each of them is last now and then. */
void hk_wait_findings_add(const struct hk_waits *waits, const struct hk_report *report,
			  struct hk_findings *findings);

#endif
