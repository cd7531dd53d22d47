/* build.h: makes a report of a snapshot, and frees it. Locked by the caller. */
#ifndef HK_REPORT_BUILD_BUILD_H
#define HK_REPORT_BUILD_BUILD_H

#include "report/model/report.h"

/* Makes the rows of SNAPSHOT. The caller frees *ret_report with hk_report_free. -ENOMEM. */
int hk_report_new(const Hk__Snapshot *snapshot, struct hk_report **ret_report);

/* Frees; accepts NULL, returns NULL. */
struct hk_report *hk_report_free(struct hk_report *report);

#endif
