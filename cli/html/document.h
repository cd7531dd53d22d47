/* document.h: the data of the page as one JSON document of bounded size. Members of the JSON
 * contract are as in `hookcli report --format json`. Tables that grow with the number of calls are
 * written by column, and cut if they would make the file too large to open; `rows` beside each is
 * the full number. Plain functions. */
#ifndef HK_CLI_HTML_DOCUMENT_H
#define HK_CLI_HTML_DOCUMENT_H

#include <stdio.h>

#include "cli/tables/kernel_rows.h"
#include "cli/tables/overview.h"
#include "cli/tables/stack_rows.h"
#include "report/build/group.h"
#include "report/finding/finding.h"
#include "report/model/report.h"
#include "text/json_stream.h"

/* Most rows of each table. */
#define HK_HTML_ROWS 2048u
#define HK_HTML_FUNCTIONS 1000u
#define HK_HTML_KERNELS 200u
#define HK_HTML_DELAYS 64u
/* Cells of the map of ranks and functions, and numbers of the memory's series. */
#define HK_HTML_CELLS 160000u
#define HK_HTML_CELL_FUNCTIONS 500u
#define HK_HTML_SERIES_NUMBERS 131072u
#define HK_HTML_SERIES 1024u
/* Frames of the tree of stacks, and sums of calls from them. */
#define HK_HTML_STACK_FRAMES 20000u
#define HK_HTML_STACK_VALUES 60000u
#define HK_HTML_STACK_GROUPS 16u /* of ranks that can be looked at apart */

struct hk_html_delays;

/* What the document has of records. Each may be NULL. */
struct hk_html_parts {
	const struct hk_findings *findings; /* NULL: those of the report alone */
	const struct hk_overview *overview;
	const struct hk_stack_rows *stacks;
	const struct hk_kernel_rows *kernels;
	const struct hk_html_delays *delays;
};

/* Writes the document of REPORT with PARTS. Returns 0, -EIO or -ENOMEM. */
int hk_html_document_write(const struct hk_report *report, const struct hk_html_parts *parts,
			   FILE *output);

/* Keys of the groups that the next two need. */
#define HK_HTML_FUNCTION_KEYS (HK_GROUP_FUNCTION | HK_GROUP_LIBRARY)
#define HK_HTML_DOMAIN_KEYS (HK_GROUP_DOMAIN | HK_GROUP_RANK)

/* Writes what a live page renews most often, of a job too large to be written whole each time: its
 * facts, the table of FUNCTIONS, the DOMAINS of each rank, and `urgent`: the findings that need no
 * calls. REPORT may be that of a rollup. Returns 0, -EIO or -ENOMEM. */
int hk_html_news_write(const struct hk_report *report, const struct hk_groups *functions,
		       const struct hk_groups *domains, FILE *output);

void hk_html_kernels_write(const struct hk_kernel_rows *rows, struct hk_json *json);

/* Reads what made ranks late from the records of SNAPSHOT's job in DIRECTORY, unless there are more
 * than RECORDS. Returns NULL if that cannot be read, or with one rank. */
struct hk_html_delays *hk_html_delays_new(const Hk__Snapshot *snapshot, const char *directory,
					  uint64_t records);
/* Frees DELAYS. Accepts NULL, returns NULL. */
struct hk_html_delays *hk_html_delays_free(struct hk_html_delays *delays);
void hk_html_delays_write(const struct hk_html_delays *delays, struct hk_json *json);

/* Write members of the document: functions, memory, and stacks. Return 0 or -ENOMEM. */
int hk_html_sums_write(const struct hk_report *report, const struct hk_groups *functions,
		       const struct hk_groups *domains, struct hk_json *json);
int hk_html_functions_write(const struct hk_report *report, struct hk_json *json);
int hk_html_memory_write(const struct hk_report *report, struct hk_json *json);
int hk_html_stacks_write(const struct hk_stack_rows *rows, struct hk_json *json);

#endif
