/* process.h: fills the ranks and processes of a report.
 *
 * Part of build.c. hk_report_free frees the arrays. Locked by the caller.
 */
#ifndef HK_REPORT_BUILD_PROCESS_H
#define HK_REPORT_BUILD_PROCESS_H

#include "report/clock/job_clock.h"
#include "report/model/report.h"

/* Fills and sorts report->processes and report->ranks. `clocks` comes from hk_report_clock_all.
 * Returns 0 or -ENOMEM. */
int hk_report_process_fill(struct hk_report *report, const Hk__Snapshot *snapshot,
			   const struct hk_report_clock *clocks);

#endif
