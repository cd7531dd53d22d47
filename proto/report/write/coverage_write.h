/* coverage_write.h: writes what the agent reached in a process and what it did not, as JSON and as
 * a line. Pure functions of the report, any thread. */
#ifndef HK_REPORT_WRITE_COVERAGE_WRITE_H
#define HK_REPORT_WRITE_COVERAGE_WRITE_H

#include <jansson.h>
#include <stdio.h>

#include "report/model/report.h"

/* Writes the line that replaces an empty table of calls: why no call was seen. */
void hk_coverage_write_empty(const struct hk_report *report, FILE *output);

/* Returns one object of the report's "coverage" array, or NULL if out of memory. */
json_t *hk_coverage_json(const struct hk_report_process *row);

#endif
