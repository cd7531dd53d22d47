/* process.h: the ranks and processes of a report.
 *
 * Part of build.c; fills arrays that hk_report_free frees. Locked by the caller.
 */
#ifndef HK_REPORT_BUILD_PROCESS_H
#define HK_REPORT_BUILD_PROCESS_H

#include "report/clock/job_clock.h"
#include "report/model/report.h"

/* Fills report->processes and report->ranks; `clocks` is hk_report_clock_all's. -ENOMEM. */
int hk_report_process_fill(struct hk_report *report, const Hk__Snapshot *snapshot,
			   const struct hk_report_clock *clocks);

#endif
