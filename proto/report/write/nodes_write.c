#include "report/write/nodes_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/findings/node_findings.h"
#include "text/name.h"
#include "text/quantity.h"
#include "text/table.h"

json_t *hk_report_node_json(const struct hk_report_node *node)
{
	char *host = hk_name_utf8(node->host);
	json_t *json = json_pack(
	    "{s:s?, s:s, s:i, s:i, s:I, s:I, s:I, s:I, s:I}", "host", host, "state", node->state,
	    "processes", (int)node->processes, "live", (int)node->live, "unsent_bytes",
	    (json_int_t)node->unsent_bytes, "shed_records", (json_int_t)node->shed_records,
	    "seen_unix_ns", (json_int_t)node->seen_unix_ns, "sync_checks",
	    (json_int_t)node->sync_checks, "sync_violations", (json_int_t)node->sync_violations);

	free(host);
	return json;
}

int hk_report_nodes_write(const struct hk_report *report, FILE *output, bool colour)
{
	struct hk_table *table;
	char bytes[HK_QUANTITY_BYTES];

	if (report->node_count == 0) {
		return 0;
	}
	table = hk_table_new("<node:40|<state|>processes|>live|>unsent|>given up");
	for (size_t i = 0; i < report->node_count; i++) {
		const struct hk_report_node *node = &report->nodes[i];
		hk_table_add(table, "%s", node->host);
		hk_table_add(table, "%s", node->state);
		hk_table_add(table, "%" PRIu32, node->processes);
		hk_table_add(table, "%" PRIu32, node->live);
		hk_table_add(table, "%s", hk_quantity_bytes(bytes, node->unsent_bytes));
		hk_table_add(table, "%" PRIu64, node->shed_records);
	}
	fputc('\n', output);
	int r = hk_table_write(table, output, colour);
	hk_table_free(table);
	return r;
}

void hk_report_nodes_clocks(const struct hk_report *report, const char *before, FILE *output)
{
	const struct hk_report_job *job = &report->job;

	if (job->nodes < 2) {
		return;
	}
	if (job->clocks_known) {
		fprintf(output, "%sclocks \302\261%.0f \302\265s", before,
			ceil((double)job->clock_error_ns / 1e3));
	} else {
		fprintf(output, "%sclocks unknown", before);
	}
}

void hk_report_nodes_warn(const struct hk_report *report, FILE *output)
{
	struct hk_findings findings = {0};

	hk_findings_add_nodes(report, &findings);
	for (size_t i = 0; i < findings.count; i++) {
		fprintf(output, "! %s\n", findings.list[i].text);
	}
	hk_findings_fini(&findings);
}
