/* share.h: the share of the ranks' time that is spent in one domain. Pure functions of the report,
 * any thread. */
#ifndef HK_REPORT_FINDING_SHARE_H
#define HK_REPORT_FINDING_SHARE_H

#include "report/model/report.h"

/* Return the wall time of a rank, and the sum of those of all ranks, in ns. */
double hk_report_rank_wall_ns(const struct hk_report_rank *rank);
double hk_report_wall_ns(const struct hk_report *report);

/* Returns the time in calls of DOMAIN as a share of the ranks' wall time, 0 without wall time. The
 * time is summed over the threads of the ranks and their helpers, so the result exceeds 1 if
 * several of them spend it at once. */
double hk_domain_share_of(const struct hk_report *report, const char *domain);

#endif
