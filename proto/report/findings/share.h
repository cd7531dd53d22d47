/* share.h: how much of the ranks' time is spent in one domain. Pure functions of the report. */
#ifndef HK_REPORT_FINDINGS_SHARE_H
#define HK_REPORT_FINDINGS_SHARE_H

#include "report/model/report.h"

/* Wall time of all ranks together, in ns. */
double hk_report_wall_ns(const struct hk_report *report);

/* Mean share of the ranks' wall time that DOMAIN has, 0 to 1; 0 without wall time. */
double hk_domain_share_of(const struct hk_report *report, const char *domain);

#endif
