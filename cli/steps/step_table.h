/* step_table.h: writes the steps of a job, and where they get slower. Main thread only. */
#ifndef HK_CLI_STEPS_STEP_TABLE_H
#define HK_CLI_STEPS_STEP_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/steps/steps.h"
#include "report/model/report.h"

/* REPORT is that of the steps' job. Writes at most 64 rows, of neighbouring steps if there are
 * more. Returns 0, -EIO or -ENOMEM. */
int hk_step_table_write_text(const struct hk_steps *steps, const struct hk_report *report,
			     FILE *output, bool colour);
/* Write a row for each bin of steps (series.h). Return 0, -EIO or -ENOMEM. */
int hk_step_table_write_json(const struct hk_steps *steps, const struct hk_report *report,
			     FILE *output);
int hk_step_table_write_csv(const struct hk_steps *steps, const struct hk_report *report,
			    FILE *output);

#endif
