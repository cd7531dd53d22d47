#include "collector/job/job_nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "collector/clock/map.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/model/remote.h"

#define NODES_MAX 4096u /* most nodes of a job */

Hk__Node *hk_job_node(const struct hk_job *job, const uint8_t *id)
{
	for (size_t i = 0; i < job->state->n_nodes; i++) {
		Hk__Node *node = job->state->nodes[i];
		if (node->id.len == HK_NODE_ID_BYTES &&
		    memcmp(node->id.data, id, HK_NODE_ID_BYTES) == 0) {
			return node;
		}
	}
	return NULL;
}

static int set_bytes(ProtobufCBinaryData *to, const ProtobufCBinaryData *from)
{
	if (from->len != HK_NODE_ID_BYTES) {
		return 0;
	}
	if (to->len != HK_NODE_ID_BYTES) {
		uint8_t *data = malloc(HK_NODE_ID_BYTES);
		if (!data) {
			return -ENOMEM;
		}
		*to = (ProtobufCBinaryData){HK_NODE_ID_BYTES, data};
	}
	memcpy(to->data, from->data, HK_NODE_ID_BYTES);
	return 0;
}

static int node_add(Hk__Job *state, const Hk__Node *from, Hk__Node **ret_node)
{
	if (state->n_nodes >= NODES_MAX) {
		return -EOVERFLOW;
	}
	Hk__Node **list = realloc(state->nodes, (state->n_nodes + 1) * sizeof(Hk__Node *));
	if (!list) {
		return -ENOMEM;
	}
	state->nodes = list;
	Hk__Node *node = malloc(sizeof(*node));
	if (!node) {
		return -ENOMEM;
	}
	hk__node__init(node);
	if (set_bytes(&node->id, &from->id) < 0) {
		free(node);
		return -ENOMEM;
	}
	state->nodes[state->n_nodes++] = node;
	*ret_node = node;
	return 0;
}

int hk_job_node_join(struct hk_job *job, const Hk__Node *from, uint64_t opened_unix_ns,
		     Hk__Node **ret_node)
{
	Hk__Node *node = hk_job_node(job, from->id.data);
	if (!node) {
		int r = node_add(job->state, from, &node);
		if (r < 0) {
			return r;
		}
		node->opened_unix_ns = opened_unix_ns;
		job->changed = true;
	}
	bool rebooted =
	    node->boot.len > 0 && (node->boot.len != from->boot.len ||
				   memcmp(node->boot.data, from->boot.data, from->boot.len) != 0);
	job->clocks_changed |= hk_clock_map_merge(&node->clock, from->clock, rebooted);
	if (hk_field_set_string(&node->host, from->host) < 0 ||
	    hk_field_set_string(&node->version, from->version) < 0 ||
	    set_bytes(&node->boot, &from->boot) < 0) {
		return -ENOMEM;
	}
	node->spooled_bytes = from->spooled_bytes;
	*ret_node = node;
	return 0;
}

void hk_job_add_evicted(struct hk_job *job, const uint8_t *id, uint64_t records)
{
	Hk__Node *node = hk_job_node(job, id);
	if (node && records > 0) {
		node->shed_records += records;
		job->changed = true;
	}
}

void hk_job_sum_evicted(struct hk_job *job)
{
	const struct hk_process *process;
	for (size_t i = 0; i < job->state->n_nodes; i++) {
		job->state->nodes[i]->shed_records = 0;
	}
	DL_FOREACH (job->processes, process) {
		const ProtobufCBinaryData *id = &process->state->node;
		bool any = process->remote && process->remote->evicted_at_source > 0 &&
			   id->len == HK_NODE_ID_BYTES;
		if (any) {
			hk_job_add_evicted(job, id->data, process->remote->evicted_at_source);
		}
	}
}
