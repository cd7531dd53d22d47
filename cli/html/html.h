/* html.h: a report as one file that a browser opens from disk, with no request to any network.
 *
 * The page, its style and its scripts are compiled in; of the job the file holds one JSON document,
 * whose size is bounded whatever the job's is: the page says where a table is cut. Names may hold
 * anything. Main thread only.
 */
#ifndef HK_CLI_HTML_HTML_H
#define HK_CLI_HTML_HTML_H

#include <stdio.h>

#include "cli/tables/overview.h"
#include "report/model/report.h"

/* Writes the page of REPORT; OVERVIEW, of the same job, may be NULL: then it has no timeline. -EIO,
 * -ENOMEM. */
int hk_html_write(const struct hk_report *report, const struct hk_overview *overview, FILE *output);

/* The same of SNAPSHOT's job, whose files lie in DIRECTORY, reading about RECORDS records at the
 * most for the timeline. -EIO, -ENOMEM. */
int hk_html_write_job(const struct hk_report *report, const Hk__Snapshot *snapshot,
		      const char *directory, uint64_t records, FILE *output);

#endif
