/* activity.h: what the main processes of a report did when, as its collector has looked at them.
 *
 * Locked by the caller.
 */
#ifndef HK_REPORT_MODEL_ACTIVITY_H
#define HK_REPORT_MODEL_ACTIVITY_H

#include "report/model/report.h"

void hk_report_activity_free(struct hk_report *report);

/* How much of ACTIVITY there was before AT_NS, which is counted from the job's start. */
double hk_report_activity_until(const struct hk_report_activity *activity, double at_ns);

/* The first of the rows of RANK that are of KIND and DOMAIN ("" for other kinds), and in *RET_COUNT
 * how many there are, one for each process that was the rank's main one; NULL: none. */
const struct hk_report_activity *hk_report_activity_find(const struct hk_report *report,
							 int32_t rank, Hk__ActivityKind kind,
							 const char *domain, size_t *ret_count);

#endif
