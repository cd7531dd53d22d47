/* html.h: a report as one file that a browser opens from disk, without network requests. The page,
 * its style and its scripts are compiled in. The job's data is one JSON document of bounded size
 * for any job: the page says where a table is cut. Names may hold any bytes. Main thread only. */
#ifndef HK_CLI_HTML_HTML_H
#define HK_CLI_HTML_HTML_H

#include <stdio.h>

#include "cli/tables/overview.h"
#include "cli/tables/stack_rows.h"
#include "report/model/report.h"

/* Writes the page of REPORT. OVERVIEW and STACKS, of the same job, may be NULL: the page then has
 * no timeline, or no flame graph. Returns 0, -EIO or -ENOMEM. */
int hk_html_write(const struct hk_report *report, const struct hk_overview *overview,
		  const struct hk_stack_rows *stacks, FILE *output);

/* Writes the page of SNAPSHOT's job, whose files lie in DIRECTORY, reading about RECORDS records at
 * most for the timeline, and as many for stacks. Returns 0, -EIO or -ENOMEM. */
int hk_html_write_job(const struct hk_report *report, const Hk__Snapshot *snapshot,
		      const char *directory, uint64_t records, FILE *output);

/* Writes only that page's document, for a page that is live. Returns the same. */
int hk_html_write_data(const struct hk_report *report, const Hk__Snapshot *snapshot,
		       const char *directory, uint64_t records, FILE *output);

/* Write the pages of a running collector: of a job, and of the list of jobs. They ask their server
 * for documents at their own path: "/jobs/ID/data" and "/jobs". Return 0, -EIO or -ENOMEM. */
int hk_html_write_live(FILE *output);
int hk_html_write_jobs(FILE *output);

#endif
