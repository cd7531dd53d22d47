/* loader_findings.h: jobs whose ranks wait for their worker processes, as a training waits for a
 * data loader that is too slow. Pure functions of the report, any thread. */
#ifndef HK_REPORT_USAGE_LOADER_FINDINGS_H
#define HK_REPORT_USAGE_LOADER_FINDINGS_H

#include "report/finding/finding.h"

/* Adds a finding of kind "slow-loader" if half of the ranks or more wait for workers, or for Python
 * functions of a data loader where these are traced. Returns whether it did. */
bool hk_findings_add_loader(const struct hk_report *report, struct hk_findings *findings);

#endif
