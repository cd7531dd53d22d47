/* text.h: the whole report as tables for a terminal or a file.
 *
 * Names are cleaned; colour only as the style says. Pure functions of the report, any thread.
 */
#ifndef HK_REPORT_TEXT_H
#define HK_REPORT_TEXT_H

#include "report/report.h"

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
