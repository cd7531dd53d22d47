/* balance.h: finds out whether the ranks had equal work. This part of the findings needs a test
 * against chance (late.h). Locked by the caller. */
#ifndef HK_REPORT_FINDINGS_BALANCE_H
#define HK_REPORT_FINDINGS_BALANCE_H

#include "report/build/group.h"
#include "report/finding/finding.h"

/* Adds to FINDINGS the rank that works longer than the others, the rank that waits longer for a
 * processor, and the function whose time is uneven, each only if it exists. GROUPS are those of
 * REPORT by function. Returns 0 or -ENOMEM. */
int hk_balance_add(struct hk_findings *findings, const struct hk_report *report,
		   const struct hk_groups *groups);

#endif
