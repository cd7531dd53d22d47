#include "report/findings/node_findings.h"

#include <inttypes.h>
#include <string.h>

#include "text/name.h"
#include "text/quantity.h"

#define HOST_COLUMNS 40
#define WARNINGS_MAX 4u

void hk_findings_add_nodes(const struct hk_report *report, struct hk_findings *findings)
{
	char host[HK_NAME_BYTES(HOST_COLUMNS)], bytes[HK_QUANTITY_BYTES];
	unsigned added = 0;

	if (report->job.sync_violations > 0) {
		hk_finding_add(findings, HK_TOPIC_CLOCKS, HK_WEIGHT_WARNING,
			       "%" PRIu64 " of %" PRIu64
			       " collective calls contradict the clocks of "
			       "the nodes: times of different nodes "
			       "are further apart than shown",
			       report->job.sync_violations, report->job.sync_checks);
	}
	for (size_t i = 0; i < report->node_count && added < WARNINGS_MAX; i++) {
		const struct hk_report_node *node = &report->nodes[i];
		hk_name_print(host, HOST_COLUMNS, node->host);
		if (strcmp(node->state, "silent") == 0) {
			hk_finding_add(
			    findings, HK_TOPIC_RECORDS, HK_WEIGHT_WARNING,
			    "node %s is not connected: its %" PRIu32
			    " processes are shown as last heard of, %s of records are missing",
			    host, node->processes, hk_quantity_bytes(bytes, node->unsent_bytes));
			added++;
		}
		if (node->shed_records > 0) {
			hk_finding_add(findings, HK_TOPIC_RECORDS, HK_WEIGHT_WARNING,
				       "node %s gave up %" PRIu64
				       " records for want of room while it was cut off",
				       host, node->shed_records);
			added++;
		}
	}
}
