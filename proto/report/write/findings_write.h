/* findings_write.h: writes findings as JSON, and as the list that `hookcli why` shows. Names in
 * them are safe for a terminal already. Pure functions, any thread.
 */
#ifndef HK_REPORT_WRITE_FINDINGS_WRITE_H
#define HK_REPORT_WRITE_FINDINGS_WRITE_H

#include "report/finding/finding.h"
#include "report/write/write.h"
#include "text/json_stream.h"

/* Writes FINDINGS of REPORT as objects, to be called inside an array. With LINES each on a line of
 * its own. */
void hk_findings_write_json(const struct hk_findings *findings, const struct hk_report *report,
			    bool lines, struct hk_json *json);

/* Writes what suggests a change of the job, most important first, with evidence and advice, and one
 * line about how far the numbers can be trusted. Lines are as wide as STYLE says, which may be
 * NULL. Returns 0 or -EIO. */
int hk_findings_write_text(const struct hk_findings *findings, const struct hk_report *report,
			   const struct hk_report_style *style, FILE *output);

#endif
