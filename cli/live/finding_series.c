#include "cli/live/finding_series.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/job/job_list.h"
#include "cli/live/documents.h"
#include "report/build/build.h"
#include "report/findings/findings.h"
#include "text/name.h"
#include "text/ranks.h"

#define NAME "hook_finding_cost_seconds"
#define NAME_COLUMNS 160
#define RANKS_BYTES 96

/* Writes label NAME unless VALUE is empty. VALUE is UTF-8 without control characters. */
static void label(FILE *output, const char *name, const char *value)
{
	char text[HK_NAME_BYTES(NAME_COLUMNS)];

	hk_name_print(text, NAME_COLUMNS, value);
	if (!*text) {
		return;
	}
	fprintf(output, ",%s=\"", name);
	for (const char *at = text; *at; at++) {
		fprintf(output, "%s%c", *at == '"' || *at == '\\' ? "\\" : "", *at);
	}
	fputc('"', output);
}

/* Returns the labels of FINDING behind the job's, or NULL without memory. The caller frees them. */
static char *labels_of(const struct hk_finding *finding)
{
	char ranks[RANKS_BYTES] = "", *text = NULL;
	size_t size;
	FILE *output = open_memstream(&text, &size);

	if (!output) {
		return NULL;
	}
	if (finding->rank_count > 0) {
		hk_ranks_print(ranks, sizeof(ranks), finding->ranks, finding->rank_count);
	}
	label(output, "kind", finding->kind);
	label(output, "rank", ranks);
	label(output, "function", finding->function ? finding->function : "");
	label(output, "confidence", hk_confidence_name(finding->confidence));
	if (fclose(output) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

static int findings_write(const char *id, const struct hk_findings *findings, FILE *output)
{
	char *labels[HK_FINDING_SERIES];
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < findings->count && count < HK_FINDING_SERIES; i++) {
		const struct hk_finding *finding = &findings->list[i];
		bool is_new = finding->weight == HK_WEIGHT_FINDING;
		labels[count] = is_new ? labels_of(finding) : NULL;
		r = is_new && !labels[count] ? -ENOMEM : 0;
		/* A series is on a page once: of findings with equal labels the first one. */
		for (size_t k = 0; r == 0 && is_new && k < count; k++) {
			is_new = strcmp(labels[k], labels[count]) != 0;
		}
		if (r < 0 || !is_new) {
			free(labels[count]);
			continue;
		}
		fprintf(output, NAME "{hook_job=\"%s\"%s} %.6f\n", id, labels[count],
			finding->cost_ns / 1e9);
		count++;
	}
	while (count > 0) {
		free(labels[--count]);
	}
	return r;
}

static int job_write(const char *id, const char *user, FILE *output)
{
	struct hk_findings findings;
	struct hk_report *report;
	struct hk_job job;

	if (hk_live_load(id, user, &job) < 0) {
		return 0;
	}
	int r = hk_report_new(job.snapshot, &report);
	if (r == 0) {
		r = hk_findings_init(&findings, report);
		if (r == 0) {
			r = findings_write(id, &findings, output);
			hk_findings_fini(&findings);
		}
		hk_report_free(report);
	}
	hk_job_close(&job);
	return r;
}

int hk_finding_series_write(const char *user, FILE *output)
{
	struct hk_job_list *jobs = hk_job_list_new();
	size_t shown = 0;
	int r = 0;

	if (!jobs) {
		return -ENOMEM;
	}
	(void)hk_job_list_add_collectors(jobs);
	fputs("# HELP " NAME " Time that a finding about a running job costs, summed over the "
	      "ranks.\n# TYPE " NAME " gauge\n",
	      output);
	for (size_t i = 0; r == 0 && i < jobs->count && shown < HK_FINDING_JOBS; i++) {
		const struct hk_job_entry *entry = &jobs->entries[i];
		if (entry->live && (!*user || strcmp(entry->user, user) == 0)) {
			r = job_write(entry->id, user, output);
			shown++;
		}
	}
	hk_job_list_free(jobs);
	return r;
}
