/* coverage.h: what the agent reached in a process and what it did not, in numbers and in words.
 *
 * Part of the rows that report/model/report.h makes; here is what is kept of them in JSON, so that
 * every command shows the same. No state.
 */
#ifndef HK_REPORT_BUILD_COVERAGE_H
#define HK_REPORT_BUILD_COVERAGE_H

#include "report/model/report.h"
#include "wire/message.h"

/* Fills the counts and `coverage` of ROW, whose other fields are filled already. 0 or -ENOMEM. */
int hk_coverage_fill(struct hk_report *report, const Hk__Process *process,
		     struct hk_report_process *row);

#endif
