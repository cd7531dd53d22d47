/* hang.h: finds ranks that wait for others without end, and names the ranks that they wait for.
 *
 * A rank waits if the first thread of its main process is inside a call that other ranks must join
 * or answer, for HK_HANG_NS or longer. The ranks that have not entered such a call are awaited. If
 * all ranks wait, those in another call than most, or with fewer calls of it, are named. A job that
 * was ended while it hung is treated as a hanging one. Locked by the caller.
 */
#ifndef HK_REPORT_FINDINGS_PROGRESS_HANG_H
#define HK_REPORT_FINDINGS_PROGRESS_HANG_H

#include "report/finding/finding.h"
#include "report/findings/progress/standing.h"

#define HK_NO_PROGRESS "no-progress"

/* Adds at most one finding, of kind "hang", or "awaited-rank" if the awaited ranks make calls; or,
 * where the ranks of a running job wait for a shorter time, a fact of kind HK_NO_PROGRESS. Returns
 * 0 or -ENOMEM. */
int hk_hang_add(struct hk_findings *findings, const struct hk_report *report);

#endif
