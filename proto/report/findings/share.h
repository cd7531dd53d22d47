/* share.h: how much of the ranks' time is spent in one domain. Pure functions of the report. */
#ifndef HK_REPORT_FINDINGS_SHARE_H
#define HK_REPORT_FINDINGS_SHARE_H

#include "report/model/report.h"

/* Domains whose share of the wall time is told, and how they are called. */
struct hk_verdict_share {
	const char *domain, *title;
};
#define HK_VERDICT_SHARES 5
extern const struct hk_verdict_share hk_verdict_shares[HK_VERDICT_SHARES];

/* Wall time of all ranks together, in ns. */
double hk_verdict_wall(const struct hk_report *report);

/* Mean share of the ranks' wall time that DOMAIN has, 0 to 1; 0 without wall time. */
double hk_verdict_share_of(const struct hk_report *report, const char *domain);

#endif
