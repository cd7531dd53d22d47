/* activity.h: reads the activity of the main processes of a report, as their collector sampled it.
 *
 * Locked by the caller.
 */
#ifndef HK_REPORT_MODEL_ACTIVITY_H
#define HK_REPORT_MODEL_ACTIVITY_H

#include "report/model/report.h"

void hk_report_activity_free(struct hk_report *report);

/* Returns the amount of ACTIVITY before AT_NS, a time since the job's start. Within a bin the
 * amount grows linearly. */
double hk_report_activity_until(const struct hk_report_activity *activity, double at_ns);

/* Finds the rows of RANK with KIND and DOMAIN ("" for kinds without one): one row for each of the
 * rank's main processes, side by side. Returns the first and sets *RET_COUNT to their number, or
 * returns NULL. */
const struct hk_report_activity *hk_report_activity_find(const struct hk_report *report,
							 int32_t rank, Hk__ActivityKind kind,
							 const char *domain, size_t *ret_count);

#endif
