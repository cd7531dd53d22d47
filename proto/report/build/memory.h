/* memory.h: fills the memory of a report, by library and over time.
 *
 * Part of build.c. hk_report_free frees the arrays. Locked by the caller.
 */
#ifndef HK_REPORT_BUILD_MEMORY_H
#define HK_REPORT_BUILD_MEMORY_H

#include "report/clock/job_clock.h"
#include "report/model/report.h"

/* Fills and sorts report->memory, summed over the processes of a rank and role, and
 * report->memory_series, one for each process, device and kind. `clocks` comes from
 * hk_report_clock_all. Returns 0 or -ENOMEM. */
int hk_report_memory_fill(struct hk_report *report, const Hk__Snapshot *snapshot,
			  const struct hk_report_clock *clocks);

#endif
