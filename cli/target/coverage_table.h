/* coverage_table.h: the table of what the agent reached in each process of a job, for doctor and
 * status. No state. */
#ifndef HK_CLI_TARGET_COVERAGE_TABLE_H
#define HK_CLI_TARGET_COVERAGE_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "report/model/report.h"

/* Writes a line with the counts of each process, and lines for what is missing. With RUNNING only
 * processes that still run are shown, at most a screenful, and then the number of the others. */
void hk_coverage_table_write(const struct hk_report *report, bool running, FILE *output);

/* Returns the same for all processes as an array of objects, or NULL without memory. */
json_t *hk_coverage_table_json(const struct hk_report *report);

#endif
