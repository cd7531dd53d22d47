/* coverage_table.h: what the agent reached in each process of a job, as doctor and status show it.
 * No state.
 */
#ifndef HK_CLI_TARGET_COVERAGE_TABLE_H
#define HK_CLI_TARGET_COVERAGE_TABLE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "report/model/report.h"

/* Writes a line with the counts of each process, and lines of what they lack. RUNNING: only of
 * those that still run, and after a screenful only how many there are more. */
void hk_coverage_table_write(const struct hk_report *report, bool running, FILE *output);

/* The same of all processes as an array of objects; NULL without memory. */
json_t *hk_coverage_table_json(const struct hk_report *report);

#endif
