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
	const struct hk_stack_rows *stacks;
};

static int report_data(const void *subject, FILE *output)
{
	const struct subject *of = subject;

	return hk_html_document_write(of->report, of->overview, of->stacks, output);
}

int hk_html_write(const struct hk_report *report, const struct hk_overview *overview,
		  const struct hk_stack_rows *stacks, FILE *output)
{
	const struct subject subject = {report, overview, stacks};
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

/* Records are read for stacks only if some process kept stacks. */
static bool has_stacks(const Hk__Snapshot *snapshot)
{
	bool any = false;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		any |= snapshot->processes[i]->n_stack_frames > 0;
	}
	return any;
}

int hk_html_write_job(const struct hk_report *report, const Hk__Snapshot *snapshot,
		      const char *directory, uint64_t records, FILE *output)
{
	const struct hk_overview_options options = {.bins = bins_for(report->rank_count),
						    .records = records,
						    .chunks = HK_OVERVIEW_CHUNKS,
						    .report = report};
	const struct hk_stack_options stack_options = {.groups = HK_HTML_STACK_GROUPS,
						       .records = records};
	struct hk_overview *overview = NULL;
	struct hk_stack_rows stacks = {0};

	/* A report without its timeline is better than no report: a job with unreadable files still
	 * has statistics. */
	if (directory && *directory) {
		(void)hk_overview_new(snapshot, directory, &options, &overview);
	}
	if (directory && *directory && has_stacks(snapshot)) {
		(void)hk_stack_rows_read(snapshot, directory, &stack_options, &stacks);
	}
	int r = hk_html_write(report, overview, &stacks, output);
	hk_overview_free(overview);
	hk_stack_rows_fini(&stacks);
	return r;
}
