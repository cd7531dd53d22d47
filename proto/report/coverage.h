/* coverage.h: what the agent reached in a process and what it did not, in numbers and in words.
 *
 * Part of the rows that report/report.h makes; here is what is kept of them in JSON, so that every
 * command shows the same. No state.
 */
#ifndef HK_REPORT_COVERAGE_H
#define HK_REPORT_COVERAGE_H

#include <jansson.h>

#include "report/report.h"
#include "wire/message.h"

/* Fills the counts and `coverage` of ROW, whose other fields are filled already. 0 or -ENOMEM. */
int hk_coverage_fill(struct hk_report *report, const Hk__Process *process,
		     struct hk_report_process *row);

/* Writes the line that stands where a table of calls would be empty: why no call was seen. */
void hk_coverage_write_empty(const struct hk_report *report, FILE *output);

/* One object of the report's "coverage" array, NULL without memory. */
json_t *hk_coverage_json(const struct hk_report_process *row);

#endif
