/* write.h: a report as text, JSON and CSV.
 *
 * Names are cleaned; colour only as the style says. Pure functions of the report, any thread.
 */
#ifndef HK_REPORT_WRITE_WRITE_H
#define HK_REPORT_WRITE_WRITE_H

#include <stdio.h>

#include "report/model/report.h"

struct hk_report_style {
	bool colour;	  /* escape codes for emphasis */
	unsigned columns; /* width of a line; 0: 100 */
	unsigned rows;	  /* most rows of the call table; 0: 12 */
	const char *
	    files; /* where the job directory is, as the user should type it; NULL: job.directory */
};

/* Writers: all of the report to OUTPUT; 0 or -EIO. JSON is the documented contract, the summary one
 * screen. */
int hk_report_write_json(const struct hk_report *report, FILE *output);
int hk_report_write_summary(const struct hk_report *report, FILE *output,
			    const struct hk_report_style *style);
/* The contract's members but calls and memory, without the braces around them, at most LIMIT rows
 * of each: for documents with tables of their own. */
int hk_report_write_json_facts(const struct hk_report *report, size_t limit, FILE *output);
int hk_report_write_csv(const struct hk_report *report, FILE *output);

enum hk_report_by {
	HK_REPORT_BY_FUNCTION = 0,
	HK_REPORT_BY_RANK,
	HK_REPORT_BY_LIBRARY,
	HK_REPORT_BY_HOST,
	HK_REPORT_BY_PROCESS,
};

/* Writes calls by `by`, memory, open calls, processes and coverage to `output`. 0, -EIO or
 * -ENOMEM. */
int hk_report_write_text(const struct hk_report *report, FILE *output, enum hk_report_by by,
			 const struct hk_report_style *style);

#endif
