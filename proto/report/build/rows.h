/* rows.h: fills the calls, open calls and governor steps of a report.
 *
 * Part of build.c. hk_report_free frees the arrays. Locked by the caller.
 */
#ifndef HK_REPORT_BUILD_ROWS_H
#define HK_REPORT_BUILD_ROWS_H

#include "report/clock/job_clock.h"
#include "report/model/report.h"

/* Fill and sort report->calls, ->open_calls and ->steps. Calls are summed over the processes of one
 * rank and role. `clocks` comes from hk_report_clock_all. Return 0 or -ENOMEM. */
int hk_report_rows_calls(struct hk_report *report, const Hk__Snapshot *snapshot);
int hk_report_rows_open_calls(struct hk_report *report, const Hk__Snapshot *snapshot,
			      const struct hk_report_clock *clocks);
int hk_report_rows_steps(struct hk_report *report, const Hk__Snapshot *snapshot,
			 const struct hk_report_clock *clocks);

/* Fills the notes of REPORT. Returns 0 or -ENOMEM. */
int hk_report_rows_notes(struct hk_report *report, const Hk__Snapshot *snapshot);

#endif
