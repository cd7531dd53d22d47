/* bare.h: fills the programs of a report that were started without the agent. */
#ifndef HK_REPORT_BUILD_BARE_H
#define HK_REPORT_BUILD_BARE_H

#include "report/model/report.h"
#include "schema/wire.pb-c.h"

/* Returns 0 or -ENOMEM. */
int hk_report_bare_fill(struct hk_report *report, const Hk__Snapshot *snapshot);

#endif
