/* write.h: writes a report as text, JSON and CSV.
 *
 * Names are made safe for a terminal, or valid UTF-8 in JSON. Only the style turns colour on. Pure
 * functions of the report, any thread.
 */
#ifndef HK_REPORT_WRITE_WRITE_H
#define HK_REPORT_WRITE_WRITE_H

#include <stdio.h>

#include "report/model/report.h"

struct hk_findings;

struct hk_report_style {
	bool colour;	  /* escape codes for emphasis */
	unsigned columns; /* most characters of a line of findings; 0: 100; at least 60 */
	unsigned rows;	  /* most rows of the summary's call table; 0: 12 */
	const struct hk_findings *findings; /* of the summary; NULL: those of the report alone */
	const char *files; /* the job directory as the user would type it; NULL: job.directory */
};

/* Write the report to OUTPUT: as documented JSON, or as a summary of one screen. FINDINGS may be
 * NULL, as in the style. Return 0, -EIO or -ENOMEM. */
int hk_report_write_json(const struct hk_report *report, const struct hk_findings *findings,
			 FILE *output);
int hk_report_write_summary(const struct hk_report *report, FILE *output,
			    const struct hk_report_style *style);
/* Writes the members of the JSON contract without the tables of calls and memory and without the
 * outer braces, at most LIMIT rows of each array. Documents with tables of their own use it.
 * Returns 0 or -EIO. */
int hk_report_write_json_facts(const struct hk_report *report, size_t limit, FILE *output);
int hk_report_write_csv(const struct hk_report *report, FILE *output);

enum hk_report_by {
	HK_REPORT_BY_FUNCTION = 0,
	HK_REPORT_BY_RANK,
	HK_REPORT_BY_LIBRARY,
	HK_REPORT_BY_HOST,
	HK_REPORT_BY_PROCESS,
};

/* Writes calls by `by`, memory, open calls, governor steps, processes with their coverage, and
 * nodes to `output`. STYLE may be NULL. Returns 0, -EIO or -ENOMEM. */
int hk_report_write_text(const struct hk_report *report, FILE *output, enum hk_report_by by,
			 const struct hk_report_style *style);

#endif
