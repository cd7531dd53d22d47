/* connections.h: fills a report's connections that nothing gets through, and the ranks' addresses.
 */
#ifndef HK_REPORT_BUILD_CONNECTIONS_H
#define HK_REPORT_BUILD_CONNECTIONS_H

#include "report/model/report.h"
#include "schema/wire.pb-c.h"

/* Returns 0 or -ENOMEM. */
int hk_report_connections_fill(struct hk_report *report, const Hk__Snapshot *snapshot);

#endif
