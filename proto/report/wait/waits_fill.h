/* waits_fill.h: what the ranks waited for each other in collectives, as matched while the job ran,
 * out of a snapshot. Locked by the caller.
 */
#ifndef HK_REPORT_WAIT_WAITS_FILL_H
#define HK_REPORT_WAIT_WAITS_FILL_H

#include "report/model/report.h"
#include "schema/wire.pb-c.h"

/* Fills `waits` and `matching` of REPORT. Returns 0 or -ENOMEM. */
int hk_report_waits_fill(struct hk_report *report, const Hk__Snapshot *snapshot);

#endif
