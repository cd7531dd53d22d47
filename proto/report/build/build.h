/* build.h: makes a report from a snapshot, and frees it. Locked by the caller. */
#ifndef HK_REPORT_BUILD_BUILD_H
#define HK_REPORT_BUILD_BUILD_H

#include "report/model/report.h"

/* Makes the report of SNAPSHOT. The caller frees *ret_report with hk_report_free. Returns 0 or
 * -ENOMEM. */
int hk_report_new(const Hk__Snapshot *snapshot, struct hk_report **ret_report);

/* Frees REPORT, which may be NULL. Returns NULL. */
struct hk_report *hk_report_free(struct hk_report *report);

#endif
