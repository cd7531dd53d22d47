/* lookup.h: finds rows of a report. Pure functions, any thread. */
#ifndef HK_REPORT_MODEL_LOOKUP_H
#define HK_REPORT_MODEL_LOOKUP_H

#include "report/model/report.h"

/* Index of the first of the calls of RANK, or of a higher one. */
size_t hk_report_first_call(const struct hk_report *report, int32_t rank);

/* Outermost time in ns that `rank` spent in calls of `domain`, summed over the threads of its main
 * process and of its helpers. */
uint64_t hk_report_domain_ns(const struct hk_report *report, int32_t rank, const char *domain);

#endif
