/* transfers.h: makes the bandwidths of NCCL's operations from the call sites that the agent keeps
 * for them (agent/annotate.h). */
#ifndef HK_REPORT_BUILD_TRANSFERS_H
#define HK_REPORT_BUILD_TRANSFERS_H

#include "report/model/report.h"

/* Moves the rows of these sites from the calls of REPORT to its transfers. Returns 0 or -ENOMEM. */
int hk_report_transfers_fill(struct hk_report *report);

#endif
