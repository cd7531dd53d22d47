/* coverage_write.h: what the agent reached in a process and what it did not, as JSON and a line. */
#ifndef HK_REPORT_WRITE_COVERAGE_WRITE_H
#define HK_REPORT_WRITE_COVERAGE_WRITE_H

#include <jansson.h>
#include <stdio.h>

#include "report/model/report.h"

/* Writes the line that stands where a table of calls would be empty: why no call was seen. */
void hk_coverage_write_empty(const struct hk_report *report, FILE *output);

/* One object of the report's "coverage" array, NULL without memory. */
json_t *hk_coverage_json(const struct hk_report_process *row);

#endif
