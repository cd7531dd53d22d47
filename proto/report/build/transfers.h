/* transfers.h: makes the bandwidths of NCCL's operations from the call sites that the agent keeps
 * for them (agent/annotate.h). */
#ifndef HK_REPORT_BUILD_TRANSFERS_H
#define HK_REPORT_BUILD_TRANSFERS_H

#include "report/model/report.h"

/* Moves the rows of these sites from the calls of REPORT to its transfers. Returns 0 or -ENOMEM. */
int hk_report_transfers_fill(struct hk_report *report);

/* The bus bandwidth of FUNCTION over RANKS ranks for each byte of algorithm bandwidth; 0: unknown.
 */
double hk_report_bus_factor(const char *function, uint32_t ranks);

#endif
