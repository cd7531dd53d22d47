/* runtimes_write.h: what is not seen of CUDA runtimes that are linked into programs and libraries.
 */
#ifndef HK_REPORT_WRITE_RUNTIMES_WRITE_H
#define HK_REPORT_WRITE_RUNTIMES_WRITE_H

#include <stdio.h>

#include "report/model/report.h"

/* Writes one line, or nothing if there is no such runtime. */
void hk_runtimes_write(const struct hk_report *report, FILE *output);

#endif
