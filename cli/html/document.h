/* document.h: what the page shows of a job, as one JSON document of bounded size.
 *
 * The members of the contract that say what the job was are as `hookcli report --format json` has
 * them. Tables that grow with what was called are written by column, and cut where they would make
 * the file too large to open; `rows` beside each says how many there are. Plain functions.
 */
#ifndef HK_CLI_HTML_DOCUMENT_H
#define HK_CLI_HTML_DOCUMENT_H

#include <stdio.h>

#include "cli/tables/overview.h"
#include "report/build/group.h"
#include "report/model/report.h"
#include "text/json_stream.h"

/* At most this many rows of each table. */
#define HK_HTML_ROWS 2048u
#define HK_HTML_FUNCTIONS 1000u
/* Cells of the map of ranks and functions, and numbers of the memory's series. */
#define HK_HTML_CELLS 160000u
#define HK_HTML_CELL_FUNCTIONS 500u
#define HK_HTML_SERIES_NUMBERS 131072u
#define HK_HTML_SERIES 1024u

/* Writes the document of REPORT, with OVERVIEW unless that is NULL. -EIO, -ENOMEM. */
int hk_html_document_write(const struct hk_report *report, const struct hk_overview *overview,
			   FILE *output);

/* Members of it: of functions, and of memory. -ENOMEM. */
int hk_html_functions_write(const struct hk_report *report, struct hk_json *json);
int hk_html_memory_write(const struct hk_report *report, struct hk_json *json);

#endif
