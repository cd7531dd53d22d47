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
	const struct hk_kernel_rows *kernels;
};

static int report_data(const void *subject, FILE *output)
{
	const struct subject *of = subject;

	return hk_html_document_write(of->report, of->overview, of->stacks, of->kernels, output);
}

static int page_write(const struct hk_report *report, const struct hk_overview *overview,
		      const struct hk_stack_rows *stacks, const struct hk_kernel_rows *kernels,
		      FILE *output)
{
	const struct subject subject = {report, overview, stacks, kernels};
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

int hk_html_write(const struct hk_report *report, const struct hk_overview *overview,
		  const struct hk_stack_rows *stacks, FILE *output)
{
	return page_write(report, overview, stacks, NULL, output);
}

/* Returns whether processes launched kernels, and no more than RECORDS have to be read for them. */
static bool has_kernels(const Hk__Snapshot *snapshot, uint64_t records)
{
	uint64_t stored = 0, kernels = 0;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		stored += snapshot->processes[i]->records_stored;
		kernels += snapshot->processes[i]->n_kernels;
	}
	return kernels > 0 && stored <= records;
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
	struct hk_kernel_rows kernels = {0};
	bool kernels_read = false;

	/* A report without its timeline is better than no report: a job with unreadable files still
	 * has statistics. */
	if (directory && *directory) {
		(void)hk_overview_new(snapshot, directory, &options, &overview);
		kernels_read = has_kernels(snapshot, records) &&
			       hk_kernel_rows_read(snapshot, directory, &kernels) == 0;
	}
	if (directory && *directory && has_stacks(snapshot)) {
		(void)hk_stack_rows_read(snapshot, directory, &stack_options, &stacks);
	}
	int r = page_write(report, overview, &stacks, kernels_read ? &kernels : NULL, output);
	hk_kernel_rows_fini(&kernels);
	hk_overview_free(overview);
	hk_stack_rows_fini(&stacks);
	return r;
}
