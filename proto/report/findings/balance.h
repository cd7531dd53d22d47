/* balance.h: whether the ranks had the same to do: the part of finding.h that needs a test against
 * chance. Locked by the caller.
 */
#ifndef HK_REPORT_FINDINGS_BALANCE_H
#define HK_REPORT_FINDINGS_BALANCE_H

#include "report/build/group.h"
#include "report/findings/finding.h"

/* Adds to FINDINGS the rank that works longer than the others, the one that waits longer for a
 * processor, and the function whose time is uneven; each where there is one. GROUPS: of REPORT by
 * function. -ENOMEM. */
int hk_balance_add(struct hk_findings *findings, const struct hk_report *report,
		   const struct hk_groups *groups);

#endif
