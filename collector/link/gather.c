#include "collector/link/gather.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "collector/lifecycle/job_list.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/stack/survey.h"
#include "report/model/stacks.h"

/* Longest wait for the leaves: up to a second until they know of it, and their own survey. */
#define NODES_NS 9000000000u
#define NODES_TRACED_NS 16000000000u
#define MISSING_BYTES 192u

struct node {
	uint8_t id[HK_NODE_ID_BYTES];
	char host[65];
	bool answered;
};

struct hk_gather {
	const void *owner;
	char *job; /* id */
	uint64_t number, until_ns;
	Hk__StacksRequest request;
	Hk__RankRange *ranges, **range_list;
	struct hk_survey *survey; /* NULL: done */
	struct node *nodes;
	size_t node_count;
	Hk__Process **processes;
	size_t count;
	Hk__StacksReply reply;
	char (*missing)[MISSING_BYTES];
	char **missing_list;
};

/* ---- making ---- */

static bool copy_request(struct hk_gather *gather, const Hk__StacksRequest *request)
{
	gather->ranges = calloc(request->n_ranks + 1, sizeof(*gather->ranges));
	gather->range_list = calloc(request->n_ranks + 1, sizeof(Hk__RankRange *));
	if (!gather->ranges || !gather->range_list) {
		return false;
	}
	hk__stacks_request__init(&gather->request);
	gather->request.job = gather->job;
	gather->request.ptrace = request->ptrace;
	gather->request.ranks = gather->range_list;
	gather->request.n_ranks = request->n_ranks;
	for (size_t i = 0; i < request->n_ranks; i++) {
		gather->ranges[i] = *request->ranks[i];
		gather->range_list[i] = &gather->ranges[i];
	}
	return true;
}

static void add_missing(struct hk_gather *gather, const char *host, const char *why)
{
	size_t i = gather->reply.n_missing++;

	snprintf(gather->missing[i], MISSING_BYTES, "node %s %s", host, why);
	gather->missing_list[i] = gather->missing[i];
}

/* Lists the nodes that are to answer. */
static bool list_nodes(struct hk_gather *gather, const struct hk_job *job)
{
	size_t most = job->state->n_nodes + 1;

	gather->nodes = calloc(most, sizeof(*gather->nodes));
	gather->missing = calloc(most, sizeof(*gather->missing));
	gather->missing_list = calloc(most, sizeof(char *));
	if (!gather->nodes || !gather->missing || !gather->missing_list) {
		return false;
	}
	for (size_t i = 0; i < job->state->n_nodes; i++) {
		const Hk__Node *from = job->state->nodes[i];
		if (from->id.len != HK_NODE_ID_BYTES || from->complete) {
			continue;
		}
		if (!from->connected) {
			add_missing(gather, from->host, "is not connected");
			continue;
		}
		struct node *node = &gather->nodes[gather->node_count++];
		memcpy(node->id, from->id.data, HK_NODE_ID_BYTES);
		snprintf(node->host, sizeof(node->host), "%s", from->host);
	}
	return true;
}

static struct hk_gather *begin(struct hk_collector *collector, const struct hk_job *job,
			       const Hk__StacksRequest *request, const void *owner)
{
	struct hk_gather *gather = calloc(1, sizeof(*gather));
	uint64_t now = hk_clock_monotonic_ns();

	if (!gather) {
		return NULL;
	}
	gather->owner = owner;
	gather->number = collector->start_unix_ns + now;
	gather->until_ns = now + (request->ptrace ? NODES_TRACED_NS : NODES_NS);
	hk__stacks_reply__init(&gather->reply);
	gather->job = strdup(job->state->id);
	if (!gather->job || !copy_request(gather, request) || !list_nodes(gather, job)) {
		return hk_gather_free(gather, collector);
	}
	gather->survey = hk_survey_begin(collector, job, request, now);
	return gather->survey ? gather : hk_gather_free(gather, collector);
}

struct hk_gather *hk_gather_free(struct hk_gather *gather, struct hk_collector *collector)
{
	if (!gather) {
		return NULL;
	}
	hk_survey_free(gather->survey, collector);
	for (size_t i = 0; i < gather->count; i++) {
		hk__process__free_unpacked(gather->processes[i], NULL);
	}
	free(gather->processes);
	free(gather->nodes);
	free(gather->missing);
	free(gather->missing_list);
	free(gather->ranges);
	free(gather->range_list);
	free(gather->job);
	free(gather);
	return NULL;
}

void hk_gather_drop(struct hk_collector *collector, const void *owner)
{
	if (collector->gather && collector->gather->owner == owner) {
		collector->gather = hk_gather_free(collector->gather, collector);
	}
}

/* ---- collecting ---- */

/* Takes the messages of LIST over; on failure they stay. */
static int add_processes(struct hk_gather *gather, Hk__Process **list, size_t count)
{
	size_t room = gather->count + count + 1;
	Hk__Process **larger = reallocarray(gather->processes, room, sizeof(Hk__Process *));

	if (!larger) {
		return -ENOMEM;
	}
	gather->processes = larger;
	for (size_t i = 0; i < count; i++) {
		larger[gather->count++] = list[i];
	}
	return 0;
}

static void finish_survey(struct hk_gather *gather, struct hk_collector *collector)
{
	size_t count;
	Hk__Process **list = hk_survey_take(gather->survey, &count);

	if (list && add_processes(gather, list, count) < 0) {
		for (size_t i = 0; i < count; i++) {
			hk__process__free_unpacked(list[i], NULL);
		}
	}
	free(list);
	gather->survey = hk_survey_free(gather->survey, collector);
}

static bool is_complete(struct hk_gather *gather, uint64_t now_ns)
{
	bool all = true;

	if (gather->survey) {
		return false;
	}
	for (size_t i = 0; i < gather->node_count; i++) {
		all &= gather->nodes[i].answered;
	}
	if (!all && now_ns < gather->until_ns) {
		return false;
	}
	for (size_t i = 0; i < gather->node_count; i++) {
		if (!gather->nodes[i].answered) {
			add_missing(gather, gather->nodes[i].host, "has not answered");
		}
	}
	return true;
}

int hk_gather_run(struct hk_collector *collector, const struct hk_job *job,
		  const Hk__StacksRequest *request, const void *owner,
		  struct hk_gather **ret_gather)
{
	struct hk_gather *gather = collector->gather;
	uint64_t now = hk_clock_monotonic_ns();

	if (!gather && !collector->surveying) {
		gather = collector->gather = begin(collector, job, request, owner);
		if (!gather) {
			return -ENOMEM;
		}
	}
	if (!gather || gather->owner != owner) {
		return 0;
	}
	if (gather->survey && hk_survey_advance(gather->survey, collector, now)) {
		finish_survey(gather, collector);
	}
	if (!is_complete(gather, now)) {
		return 0;
	}
	collector->gather = NULL;
	*ret_gather = gather;
	return 1;
}

Hk__StacksReply *hk_gather_reply(struct hk_gather *gather)
{
	gather->reply.processes = gather->processes;
	gather->reply.n_processes = gather->count;
	gather->reply.missing = gather->missing_list;
	return &gather->reply;
}

/* ---- leaves ---- */

static struct node *awaited(const struct hk_gather *gather, const struct hk_job *job,
			    const ProtobufCBinaryData *id)
{
	if (!gather || strcmp(gather->job, job->state->id) != 0 || id->len != HK_NODE_ID_BYTES) {
		return NULL;
	}
	for (size_t i = 0; i < gather->node_count; i++) {
		struct node *node = &gather->nodes[i];
		if (!node->answered && memcmp(node->id, id->data, HK_NODE_ID_BYTES) == 0) {
			return node;
		}
	}
	return NULL;
}

void hk_gather_want(const struct hk_collector *collector, const struct hk_job *job,
		    const Hk__Node *node, Hk__LeafJobReply *reply)
{
	if (awaited(collector->gather, job, &node->id)) {
		reply->stacks = &collector->gather->request;
		reply->stacks_number = collector->gather->number;
	}
}

int hk_gather_put(struct hk_collector *collector, const char *user, Hk__StacksPut *put)
{
	struct hk_gather *gather = collector->gather;
	const struct hk_job *job = hk_job_find_of(collector, put->job, user);
	struct node *node = job ? awaited(gather, job, &put->node) : NULL;

	if (!node || put->number != gather->number) {
		return -ENOENT;
	}
	/* A process that the leaf did not describe soundly is left out. */
	size_t kept = 0;
	for (size_t i = 0; i < put->n_processes; i++) {
		Hk__Process *process = put->processes[i];
		if (hk_stacks_valid(process)) {
			put->processes[kept++] = process;
		} else {
			hk__process__free_unpacked(process, NULL);
		}
	}
	put->n_processes = kept;
	int r = add_processes(gather, put->processes, kept);
	if (r == 0) {
		put->n_processes = 0;
		node->answered = true;
	}
	return r;
}
