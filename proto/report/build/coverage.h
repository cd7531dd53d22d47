/* coverage.h: what the agent reached in a process and what it did not, as counts and as text.
 *
 * The text is part of a report's rows and of the JSON, so that every command shows the same. No
 * state, locked by the caller.
 */
#ifndef HK_REPORT_BUILD_COVERAGE_H
#define HK_REPORT_BUILD_COVERAGE_H

#include "report/model/report.h"
#include "wire/message.h"

/* Fills the counts and `coverage` of ROW. All other fields of ROW must be filled already. Returns 0
 * or -ENOMEM. */
int hk_coverage_fill(struct hk_report *report, const Hk__Process *process,
		     struct hk_report_process *row);

#endif
