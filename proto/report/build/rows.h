/* rows.h: the calls, open calls and the governor's steps of a report.
 *
 * Part of build.c; fills arrays that hk_report_free frees. Locked by the caller.
 */
#ifndef HK_REPORT_BUILD_ROWS_H
#define HK_REPORT_BUILD_ROWS_H

#include "report/clock/job_clock.h"
#include "report/model/report.h"

/* Fill report->calls, ->open_calls and ->steps, summed and sorted; `clocks` is
 * hk_report_clock_all's. -ENOMEM. */
int hk_report_rows_calls(struct hk_report *report, const Hk__Snapshot *snapshot);
int hk_report_rows_open_calls(struct hk_report *report, const Hk__Snapshot *snapshot,
			      const struct hk_report_clock *clocks);
int hk_report_rows_steps(struct hk_report *report, const Hk__Snapshot *snapshot,
			 const struct hk_report_clock *clocks);

#endif
