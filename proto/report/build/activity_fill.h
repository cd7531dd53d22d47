/* activity_fill.h: fills the activity of a report from the collector's samples of main processes.
 *
 * Part of build.c. hk_report_free frees the array. Locked by the caller.
 */
#ifndef HK_REPORT_BUILD_ACTIVITY_FILL_H
#define HK_REPORT_BUILD_ACTIVITY_FILL_H

#include "report/clock/job_clock.h"
#include "report/model/report.h"

/* Fills report->activity and sorts it. `clocks` comes from hk_report_clock_all. Returns 0 or
 * -ENOMEM. */
int hk_report_activity_fill(struct hk_report *report, const Hk__Snapshot *snapshot,
			    const struct hk_report_clock *clocks);
#endif
