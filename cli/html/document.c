#include "cli/html/document.h"

#include <errno.h>
#include <string.h>

#include "hooks/shipped.h"
#include "report/build/group.h"
#include "report/findings/findings.h"
#include "report/write/findings_write.h"
#include "report/write/write.h"

static void list_write(const struct hk_findings *findings, const struct hk_report *report,
		       const char *key, struct hk_json *json)
{
	hk_json_open(json, key, '[');
	hk_findings_write_json(findings, report, false, json);
	hk_json_close(json, ']');
}

static int findings_write(const struct hk_report *report, const char *key,
			  int (*init)(struct hk_findings *findings, const struct hk_report *report),
			  struct hk_json *json)
{
	struct hk_findings findings;
	int r = init(&findings, report);

	if (r < 0) {
		return r;
	}
	hk_findings_sort(&findings);
	list_write(&findings, report, key, json);
	hk_findings_fini(&findings);
	return 0;
}

/* Writes how the shipped hooks files want their domains shown. */
static void domains_write(struct hk_json *json)
{
	hk_json_open(json, "domain_styles", '[');
	for (unsigned i = 0; i < hk_shipped_domain_count; i++) {
		struct hk_domain domain;
		hk_shipped_domain(i, &domain);
		hk_json_open(json, NULL, '{');
		hk_json_string(json, "domain", domain.name);
		hk_json_string(json, "title", domain.title);
		hk_json_uint(json, "order", domain.order);
		hk_json_uint(json, "light", domain.light);
		hk_json_uint(json, "dark", domain.dark);
		hk_json_bool(json, "idle", domain.idle);
		hk_json_close(json, '}');
	}
	hk_json_close(json, ']');
}

static void rows_write(const struct hk_report *report, struct hk_json *json)
{
	hk_json_open(json, "rows", '{');
	hk_json_uint(json, "ranks", report->rank_count);
	hk_json_uint(json, "processes", report->process_count);
	hk_json_uint(json, "open_calls", report->open_call_count);
	hk_json_uint(json, "governor", report->step_count);
	hk_json_close(json, '}');
	domains_write(json);
	hk_json_uint(json, "records", report->job.records);
	hk_json_uint(json, "lost_records", report->job.lost_records);
	hk_json_uint(json, "shed_records", report->job.shed_records);
}

int hk_html_document_write(const struct hk_report *report, const struct hk_html_parts *parts,
			   FILE *output)
{
	struct hk_json json = {.output = output};

	hk_json_open(&json, NULL, '{');
	int r = hk_report_write_json_facts(report, HK_HTML_ROWS, output);
	json.comma = true;
	hk_json_string(&json, "version", HK_VERSION);
	rows_write(report, &json);
	if (parts->findings) {
		list_write(parts->findings, report, "findings", &json);
	} else {
		r = r ? r : findings_write(report, "findings", hk_findings_init, &json);
	}
	r = r ? r : hk_html_functions_write(report, &json);
	r = r ? r : hk_html_memory_write(report, &json);
	if (parts->kernels) {
		hk_html_kernels_write(parts->kernels, &json);
	}
	if (parts->delays) {
		hk_html_delays_write(parts->delays, &json);
	}
	if (parts->overview && parts->overview->rank_count > 0) {
		hk_json_newline(&json);
		hk_overview_write(parts->overview, "overview", &json);
	}
	if (parts->stacks && parts->stacks->count > 0) {
		r = r ? r : hk_html_stacks_write(parts->stacks, &json);
	}
	hk_json_close(&json, '}');
	return r == 0 && ferror(output) ? -EIO : r;
}

int hk_html_news_write(const struct hk_report *report, const struct hk_groups *functions,
		       const struct hk_groups *domains, FILE *output)
{
	struct hk_json json = {.output = output};

	hk_json_open(&json, NULL, '{');
	int r = hk_report_write_json_facts(report, HK_HTML_ROWS, output);
	json.comma = true;
	rows_write(report, &json);
	r = r ? r : findings_write(report, "urgent", hk_findings_init_urgent, &json);
	r = r ? r : hk_html_sums_write(report, functions, domains, &json);
	hk_json_close(&json, '}');
	return r == 0 && ferror(output) ? -EIO : r;
}
