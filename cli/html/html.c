#include "cli/html/html.h"

#include "cli/html/assets.h"
#include "cli/html/document.h"
#include "cli/html/page.h"
#include "cli/reasons/reasons.h"

/* Values of the timeline per domain: many bins for few ranks. */
#define OVERVIEW_CELLS 120000u
#define OVERVIEW_BINS_MIN 64u
#define OVERVIEW_BINS_MAX 1600u

struct subject {
	const struct hk_report *report;
	const struct hk_html_parts *parts;
};

static int report_data(const void *subject, FILE *output)
{
	const struct subject *of = subject;

	return hk_html_document_write(of->report, of->parts, output);
}

static int page_write(const struct hk_report *report, const struct hk_html_parts *parts,
		      FILE *output)
{
	const struct subject subject = {report, parts};
	const struct hk_html_page page = {
	    .source = hk_html_page,
	    .source_end = hk_html_page_end,
	    .script = hk_html_script,
	    .script_end = hk_html_script_end,
	    .start = hk_html_still_script,
	    .start_end = hk_html_still_script_end,
	    .data = report_data,
	    .subject = &subject,
	};

	return hk_html_page_write(&page, output);
}

int hk_html_write(const struct hk_report *report, const struct hk_overview *overview,
		  const struct hk_stack_rows *stacks, FILE *output)
{
	const struct hk_html_parts parts = {.overview = overview, .stacks = stacks};

	return page_write(report, &parts, output);
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

/* What a page has of records. */
struct records {
	struct hk_overview *overview;
	struct hk_stack_rows stacks;
	struct hk_kernel_rows kernels;
	bool kernels_read;
	struct hk_html_delays *delays; /* NULL: none */
	struct hk_findings findings;
	bool findings_made;
};

/* A report without its timeline is better than no report: a job with unreadable files still has
 * statistics. */
static void records_read(struct records *read, const struct hk_report *report,
			 const Hk__Snapshot *snapshot, const char *directory, uint64_t records)
{
	const struct hk_overview_options options = {.bins = bins_for(report->rank_count),
						    .records = records,
						    .chunks = HK_OVERVIEW_CHUNKS,
						    .report = report};
	const struct hk_stack_options stack_options = {.groups = HK_HTML_STACK_GROUPS,
						       .records = records};

	*read = (struct records){0};
	read->findings_made =
	    hk_reasons_init(snapshot, directory, report, records, &read->findings) == 0;
	if (!directory || !*directory) {
		return;
	}
	(void)hk_overview_new(snapshot, directory, &options, &read->overview);
	read->kernels_read = has_kernels(snapshot, records) &&
			     hk_kernel_rows_read(snapshot, directory, &read->kernels) == 0;
	if (has_stacks(snapshot)) {
		(void)hk_stack_rows_read(snapshot, directory, &stack_options, &read->stacks);
	}
}

static struct hk_html_parts parts_of(const struct records *read)
{
	return (struct hk_html_parts){
	    .findings = read->findings_made ? &read->findings : NULL,
	    .overview = read->overview,
	    .stacks = &read->stacks,
	    .kernels = read->kernels_read ? &read->kernels : NULL,
	    .delays = read->delays,
	};
}

static void records_fini(struct records *read)
{
	hk_html_delays_free(read->delays);
	if (read->findings_made) {
		hk_findings_fini(&read->findings);
	}
	hk_kernel_rows_fini(&read->kernels);
	hk_overview_free(read->overview);
	hk_stack_rows_fini(&read->stacks);
}

int hk_html_write_job(const struct hk_report *report, const Hk__Snapshot *snapshot,
		      const char *directory, uint64_t records, FILE *output)
{
	struct records read;

	records_read(&read, report, snapshot, directory, records);
	if (directory && *directory && report->rank_count > 1) {
		read.delays = hk_html_delays_new(snapshot, directory, records);
	}
	const struct hk_html_parts parts = parts_of(&read);
	int r = page_write(report, &parts, output);
	records_fini(&read);
	return r;
}

int hk_html_write_data(const struct hk_report *report, const Hk__Snapshot *snapshot,
		       const char *directory, uint64_t records, FILE *output)
{
	struct records read;

	records_read(&read, report, snapshot, directory, records);
	const struct hk_html_parts parts = parts_of(&read);
	int r = hk_html_document_write(report, &parts, output);
	records_fini(&read);
	return r;
}

int hk_html_write_live(FILE *output)
{
	const struct hk_html_page page = {.source = hk_html_page,
					  .source_end = hk_html_page_end,
					  .script = hk_html_script,
					  .script_end = hk_html_script_end,
					  .start = hk_html_live_script,
					  .start_end = hk_html_live_script_end,
					  .live = true};

	return hk_html_page_write(&page, output);
}

int hk_html_write_jobs(FILE *output)
{
	const struct hk_html_page page = {.source = hk_html_jobs_page,
					  .source_end = hk_html_jobs_page_end,
					  .script = hk_html_jobs_script,
					  .script_end = hk_html_jobs_script_end,
					  .live = true};

	return hk_html_page_write(&page, output);
}
