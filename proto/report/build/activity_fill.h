/* activity_fill.h: the activity of a report, out of what the collector saw of main processes.
 *
 * Part of build.c; fills an array that hk_report_free frees. Locked by the caller.
 */
#ifndef HK_REPORT_BUILD_ACTIVITY_FILL_H
#define HK_REPORT_BUILD_ACTIVITY_FILL_H

#include "report/clock/job_clock.h"
#include "report/model/report.h"

/* Fills report->activity, sorted. `clocks` is hk_report_clock_all's. -ENOMEM. */
int hk_report_activity_fill(struct hk_report *report, const Hk__Snapshot *snapshot,
			    const struct hk_report_clock *clocks);
#endif
