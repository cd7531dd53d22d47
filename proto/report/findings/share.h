/* share.h: how much of the ranks' time is spent in one domain. Pure functions of the report. */
#ifndef HK_REPORT_FINDINGS_SHARE_H
#define HK_REPORT_FINDINGS_SHARE_H

#include "report/model/report.h"

/* Domains whose share of the wall time is told, and how they are called. */
struct hk_domain_share {
	const char *domain, *title;
};
#define HK_DOMAIN_SHARES 5
extern const struct hk_domain_share hk_domain_shares[HK_DOMAIN_SHARES];

/* Wall time of all ranks together, in ns. */
double hk_report_wall_ns(const struct hk_report *report);

/* Mean share of the ranks' wall time that DOMAIN has, 0 to 1; 0 without wall time. */
double hk_domain_share_of(const struct hk_report *report, const char *domain);

#endif
