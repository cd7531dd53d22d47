#include "cli/html/html.h"

#include "cli/html/assets.h"
#include "cli/html/document.h"
#include "cli/html/page.h"

/* Values of the timeline per domain: many bins for few ranks. */
#define OVERVIEW_CELLS 120000u
#define OVERVIEW_BINS_MIN 64u
#define OVERVIEW_BINS_MAX 1600u

struct subject {
	const struct hk_report *report;
	const struct hk_overview *overview;
};

static int report_data(const void *subject, FILE *output)
{
	const struct subject *of = subject;

	return hk_html_document_write(of->report, of->overview, output);
}

int hk_html_write(const struct hk_report *report, const struct hk_overview *overview, FILE *output)
{
	const struct subject subject = {report, overview};
	const struct hk_html_page page = {
	    .source = hk_html_page,
	    .source_end = hk_html_page_end,
	    .script = hk_html_script,
	    .script_end = hk_html_script_end,
	    .data = report_data,
	    .subject = &subject,
	};

	return hk_html_page_write(&page, output);
}

static size_t bins_for(size_t ranks)
{
	size_t bins = OVERVIEW_CELLS / (ranks ? ranks : 1);

	bins = bins < OVERVIEW_BINS_MAX ? bins : OVERVIEW_BINS_MAX;
	return bins > OVERVIEW_BINS_MIN ? bins : OVERVIEW_BINS_MIN;
}

int hk_html_write_job(const struct hk_report *report, const Hk__Snapshot *snapshot,
		      const char *directory, uint64_t records, FILE *output)
{
	const struct hk_overview_options options = {.bins = bins_for(report->rank_count),
						    .records = records,
						    .chunks = HK_OVERVIEW_CHUNKS,
						    .report = report};
	struct hk_overview *overview = NULL;

	/* A report without its timeline is better than no report: a job with unreadable files still
	 * has statistics. */
	if (directory && *directory) {
		(void)hk_overview_new(snapshot, directory, &options, &overview);
	}
	int r = hk_html_write(report, overview, output);
	hk_overview_free(overview);
	return r;
}
