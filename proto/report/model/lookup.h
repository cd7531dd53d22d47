/* lookup.h: finds rows of a report. Pure functions, any thread. */
#ifndef HK_REPORT_MODEL_LOOKUP_H
#define HK_REPORT_MODEL_LOOKUP_H

#include "report/model/report.h"

/* Returns the index of the first row in report->calls of RANK or of a higher rank; call_count if
 * there is none. */
size_t hk_report_first_call(const struct hk_report *report, int32_t rank);

/* Returns the outermost time in ns that RANK spent in calls of DOMAIN, summed over the threads of
 * its main process and of its helpers. */
uint64_t hk_report_domain_ns(const struct hk_report *report, int32_t rank, const char *domain);

#endif
