/* share.h: how much of the ranks' time is spent in one domain. Pure functions of the report. */
#ifndef HK_REPORT_FINDINGS_SHARE_H
#define HK_REPORT_FINDINGS_SHARE_H

#include "report/model/report.h"

/* Wall time of all ranks together, in ns. */
double hk_report_wall_ns(const struct hk_report *report);

/* Time in calls of DOMAIN, summed over the threads of the ranks and their helpers, for each second
 * of the ranks' wall time. Above 1 if several threads or processes spend it at the same time; 0
 * without wall time. */
double hk_domain_share_of(const struct hk_report *report, const char *domain);

#endif
