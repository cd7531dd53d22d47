/* idle.h: adds why devices have nothing to do: the host gives them too little, waits for each piece
 * of work, or copies by calls that wait. Locked by the caller. */
#ifndef HK_REPORT_FINDINGS_DEVICE_IDLE_H
#define HK_REPORT_FINDINGS_DEVICE_IDLE_H

#include "report/build/group.h"
#include "report/finding/finding.h"

/* GROUPS are those of REPORT by HK_GROUP_FUNCTION. */
void hk_findings_add_idle(const struct hk_report *report, const struct hk_groups *groups,
			  struct hk_findings *findings);

#endif
