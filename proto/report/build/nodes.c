#include "report/build/nodes.h"

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

/* Whether a node of JOB has reported to a root. */
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
		/* A node that never reported to a root is known by its files only, and cannot be
		 * silent. */
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
