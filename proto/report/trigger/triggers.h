/* triggers.h: which triggers of a job fired, what each saw, what it kept, and what was refused.
 * Locked by the caller. */
#ifndef HK_REPORT_TRIGGER_TRIGGERS_H
#define HK_REPORT_TRIGGER_TRIGGERS_H

#include <jansson.h>
#include <stdio.h>

#include "report/model/report.h"
#include "schema/wire.pb-c.h"

/* Fills report->triggers. Returns 0 or -ENOMEM. */
int hk_report_triggers_fill(struct hk_report *report, const Hk__Snapshot *snapshot);

/* Writes a line for each trigger, each with PREFIX, and lines for what was refused; nothing without
 * triggers. FILES: the job's directory as people type it; NULL: as the job has it. */
void hk_report_triggers_write(const struct hk_report *report, const char *prefix, const char *files,
			      FILE *output);

/* The object `triggers` of the report's JSON; NULL without memory. */
json_t *hk_report_triggers_json(const struct hk_report *report);

#endif
