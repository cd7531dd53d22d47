#include "report/nodes.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/clock/job_clock.h"
#include "text/name.h"
#include "text/quantity.h"
#include "text/table.h"
#include "wire/message.h"

#define HOST_COLUMNS 40
#define WARNINGS_MAX 4u

/* Whether nodes of JOB report to a root, which alone hears from them. */
static bool are_heard(const Hk__Job *job)
{
	for (size_t i = 0; job && i < job->n_nodes; i++) {
		if (job->nodes[i]->id.len > 0 && job->nodes[i]->opened_unix_ns != 0) {
			return true;
		}
	}
	return false;
}

static bool is_of(const Hk__Process *process, const Hk__Node *node)
{
	return process->node.len > 0 && process->node.len == node->id.len &&
	       memcmp(process->node.data, node->id.data, node->id.len) == 0;
}

static const char *state_of(const Hk__Job *job, const Hk__Node *node)
{
	if (node->complete) {
		return "complete";
	}
	return node->connected && !job->closed ? "connected" : "silent";
}

bool hk_report_node_is_silent(const Hk__Job *job, const Hk__Process *process,
			      struct hk_report_node_memory *memory)
{
	const Hk__Process *last = memory->process;
	if (!last || !hk_message_same_bytes(&last->node, &process->node)) {
		const Hk__Node *node = hk_report_clock_node(job, process);
		/* One that no root has heard is told of by its files alone. */
		bool heard = node && node->opened_unix_ns != 0;
		memory->process = process;
		memory->silent = heard && strcmp(state_of(job, node), "silent") == 0;
	}
	return memory->silent;
}

int hk_report_nodes_fill(struct hk_report *report, const Hk__Snapshot *snapshot)
{
	const Hk__Job *job = snapshot->job;

	if (!are_heard(job)) {
		return 0;
	}
	report->nodes = calloc(job->n_nodes, sizeof(*report->nodes));
	if (!report->nodes) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < job->n_nodes; i++) {
		const Hk__Node *node = job->nodes[i];
		struct hk_report_node *to = &report->nodes[report->node_count++];
		to->host = hk_report_strings_get(&report->strings, node->host);
		to->state = state_of(job, node);
		bool silent = strcmp(to->state, "silent") == 0;
		to->unsent_bytes = node->spooled_bytes;
		to->shed_records = node->shed_records;
		to->seen_unix_ns = node->seen_unix_ns;
		to->sync_checks = node->sync_checks;
		to->sync_violations = node->sync_violations;
		for (size_t k = 0; k < snapshot->n_processes; k++) {
			bool own = is_of(snapshot->processes[k], node);
			to->processes += own;
			to->live += own && !silent && !snapshot->processes[k]->end;
		}
		if (!to->host) {
			return -ENOMEM;
		}
	}
	return 0;
}

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

void hk_report_nodes_verdicts(const struct hk_report *report, struct hk_verdicts *verdicts)
{
	char host[HK_NAME_BYTES(HOST_COLUMNS)], bytes[HK_QUANTITY_BYTES];
	unsigned told = 0;

	if (report->job.sync_violations > 0) {
		hk_verdict_add(verdicts, HK_VERDICT_CLOCKS, HK_VERDICT_WARNING,
			       "%" PRIu64 " of %" PRIu64
			       " collective calls contradict the clocks of "
			       "the nodes: times of different nodes "
			       "are further apart than shown",
			       report->job.sync_violations, report->job.sync_checks);
	}
	for (size_t i = 0; i < report->node_count && told < WARNINGS_MAX; i++) {
		const struct hk_report_node *node = &report->nodes[i];
		hk_name_print(host, HOST_COLUMNS, node->host);
		if (strcmp(node->state, "silent") == 0) {
			hk_verdict_add(
			    verdicts, HK_VERDICT_RECORDS, HK_VERDICT_WARNING,
			    "node %s is not connected: its %" PRIu32
			    " processes are shown as last heard of, %s of records are missing",
			    host, node->processes, hk_quantity_bytes(bytes, node->unsent_bytes));
			told++;
		}
		if (node->shed_records > 0) {
			hk_verdict_add(verdicts, HK_VERDICT_RECORDS, HK_VERDICT_WARNING,
				       "node %s gave up %" PRIu64
				       " records for want of room while it was cut off",
				       host, node->shed_records);
			told++;
		}
	}
}

void hk_report_nodes_warn(const struct hk_report *report, FILE *output)
{
	struct hk_verdicts verdicts = {0};

	hk_report_nodes_verdicts(report, &verdicts);
	for (size_t i = 0; i < verdicts.count; i++) {
		fprintf(output, "! %s\n", verdicts.list[i].text);
	}
	hk_verdicts_fini(&verdicts);
}
