/* transfers_write.h: a table of NCCL's bandwidths, by communicator, function and size. */
#ifndef HK_REPORT_WRITE_TRANSFERS_WRITE_H
#define HK_REPORT_WRITE_TRANSFERS_WRITE_H

#include <stdbool.h>
#include <stdio.h>

#include "report/model/report.h"

/* Writes at most LIMIT rows, those with most time first, or nothing if there are no operations. The
 * ranks of a communicator are one row: the bandwidth is their mean, and the slowest rank is named.
 * Returns 0, -ENOMEM or -EIO. */
int hk_transfers_write(const struct hk_report *report, size_t limit, bool colour, FILE *output);

#endif
