#include "collector/link/peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/clock/map.h"
#include "collector/model/collector.h"
#include "collector/model/fields.h"
#include "collector/model/job.h"
#include "collector/model/process.h"
#include "collector/model/remote.h"
#include "collector/server/quota.h"

#define PEERS_MAX 4096u
#define NODES_MAX 4096u /* of one job */

/* Forgets the leaf of ACCOUNT (NULL: of all) that has been silent longest, if that is longer than
 * SILENT_NS. */
static bool make_room(struct hk_collector *collector, const struct hk_account *account,
		      uint64_t silent_ns)
{
	uint64_t now_ns = hk_clock_monotonic_ns();
	struct hk_peer *peer, *next, *oldest = NULL;
	HASH_ITER (hh, collector->peers, peer, next) {
		bool older = !oldest || peer->seen_ns < oldest->seen_ns;
		oldest = older && (!account || peer->account == account) ? peer : oldest;
	}
	if (!oldest || now_ns - oldest->seen_ns < silent_ns) {
		return false;
	}
	HASH_DEL(collector->peers, oldest);
	free(oldest);
	return true;
}

static uint32_t count_of(const struct hk_collector *collector, const struct hk_account *account)
{
	const struct hk_peer *peer, *next;
	uint32_t count = 0;
	HASH_ITER (hh, collector->peers, peer, next) {
		count += peer->account == account;
	}
	return count;
}

int hk_peers_take(struct hk_collector *collector, const Hk__Node *node,
		  const struct hk_account *account, struct hk_peer **ret_peer)
{
	struct hk_peer *peer;
	if (node->id.len != HK_NODE_ID_BYTES) {
		return -EINVAL;
	}
	HASH_FIND(hh, collector->peers, node->id.data, HK_NODE_ID_BYTES, peer);
	if (!peer) {
		/* Leaves of one job each come and go, and never come again. */
		if (account && count_of(collector, account) >= HK_QUOTA_LEAVES &&
		    !make_room(collector, account, HK_PEERS_SILENT_NS)) {
			return -EDQUOT;
		}
		if (HASH_COUNT(collector->peers) >= PEERS_MAX &&
		    !make_room(collector, NULL, HK_PEERS_LOST_NS)) {
			return -ENOSPC;
		}
		peer = calloc(1, sizeof(*peer));
		if (!peer) {
			return -ENOMEM;
		}
		memcpy(peer->id, node->id.data, HK_NODE_ID_BYTES);
		peer->account = account;
		HASH_ADD(hh, collector->peers, id, HK_NODE_ID_BYTES, peer);
		hk_info("leaf reports host=%s version=%s", node->host, node->version);
	}
	*ret_peer = peer;
	return 0;
}

void hk_peers_free_all(struct hk_collector *collector)
{
	struct hk_peer *peer, *next;
	HASH_ITER (hh, collector->peers, peer, next) {
		HASH_DEL(collector->peers, peer);
		free(peer);
	}
}

static uint64_t clock_bound(const Hk__ClockMap *map)
{
	return map && map->n_bound_ns > 0 ? map->bound_ns[map->n_bound_ns - 1] : 0;
}

void hk_peers_hear(struct hk_peer *peer, const Hk__LeafReport *report, const char *user,
		   uint64_t now_unix_ns)
{
	const Hk__Node *node = report->node;
	uint64_t now_ns = hk_clock_monotonic_ns();
	if (now_ns - peer->seen_ns >= HK_PEERS_SILENT_NS) {
		peer->since_unix_ns = now_unix_ns;
	}
	peer->seen_ns = now_ns;
	peer->seen_unix_ns = now_unix_ns;
	snprintf(peer->facts.host, sizeof(peer->facts.host), "%s", node->host);
	snprintf(peer->facts.version, sizeof(peer->facts.version), "%s", node->version);
	snprintf(peer->facts.user, sizeof(peer->facts.user), "%s", user);
	peer->facts.unsent_bytes = node->spooled_bytes;
	peer->facts.shed_records = node->shed_records;
	peer->facts.clock_bound_ns = clock_bound(node->clock);
	peer->facts.jobs = (uint32_t)report->n_jobs;
}

static int by_host(const void *a, const void *b)
{
	const Hk__Leaf *const *left = a, *const *right = b;
	int order = strcmp((*left)->host, (*right)->host);
	return order ? order
		     : ((*left)->since_unix_ns > (*right)->since_unix_ns) -
			   ((*left)->since_unix_ns < (*right)->since_unix_ns);
}

static void show(struct hk_peer *peer, uint64_t silence_ns, Hk__Leaf *leaf)
{
	hk__leaf__init(leaf);
	leaf->host = peer->facts.host;
	leaf->version = peer->facts.version;
	leaf->connected = silence_ns < HK_PEERS_SILENT_NS;
	leaf->since_unix_ns = peer->since_unix_ns;
	leaf->seen_unix_ns = peer->seen_unix_ns;
	leaf->unsent_bytes = peer->facts.unsent_bytes;
	leaf->shed_records = peer->facts.shed_records;
	leaf->clock_bound_ns = peer->facts.clock_bound_ns;
	leaf->jobs = peer->facts.jobs;
}

int hk_peers_list(const struct hk_collector *collector, const char *user, Hk__Leaf ***ret_list,
		  size_t *ret_count)
{
	struct hk_peer *peer, *next;
	size_t all = HASH_COUNT(collector->peers), count = 0;
	uint64_t now_ns = hk_clock_monotonic_ns();
	/* The messages lie behind the list of them. */
	Hk__Leaf **list = calloc(all + 1, sizeof(Hk__Leaf *) + sizeof(Hk__Leaf));
	if (!list) {
		return -ENOMEM;
	}
	Hk__Leaf *leaves = (Hk__Leaf *)(void *)(list + all + 1);
	HASH_ITER (hh, collector->peers, peer, next) {
		uint64_t silence_ns = now_ns - peer->seen_ns;
		bool shown = silence_ns < HK_PEERS_LOST_NS &&
			     (!*user || strcmp(peer->facts.user, user) == 0);
		if (shown) {
			list[count] = &leaves[count];
			show(peer, silence_ns, list[count++]);
		}
	}
	qsort(list, count, sizeof(Hk__Leaf *), by_host);
	*ret_list = list;
	*ret_count = count;
	return 0;
}

/* ---- nodes of a job ---- */

Hk__Node *hk_peers_node(const struct hk_job *job, const uint8_t *id)
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
		return -ENOSPC;
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

int hk_peers_join(struct hk_job *job, const Hk__Node *from, uint64_t opened_unix_ns,
		  Hk__Node **ret_node)
{
	Hk__Node *node = hk_peers_node(job, from->id.data);
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
	job->clocks_changed |= hk_clock_map_keep(&node->clock, from->clock, rebooted);
	if (hk_field_set_string(&node->host, from->host) < 0 ||
	    hk_field_set_string(&node->version, from->version) < 0 ||
	    set_bytes(&node->boot, &from->boot) < 0) {
		return -ENOMEM;
	}
	node->spooled_bytes = from->spooled_bytes;
	*ret_node = node;
	return 0;
}

void hk_peers_note_shed(struct hk_job *job, const uint8_t *id, uint64_t records)
{
	Hk__Node *node = hk_peers_node(job, id);
	if (node && records > 0) {
		node->shed_records += records;
		job->changed = true;
	}
}

void hk_peers_sum_shed(struct hk_job *job)
{
	const struct hk_process *process;
	for (size_t i = 0; i < job->state->n_nodes; i++) {
		job->state->nodes[i]->shed_records = 0;
	}
	DL_FOREACH (job->processes, process) {
		const ProtobufCBinaryData *id = &process->state->node;
		bool any = process->remote && process->remote->shed_at_source > 0 &&
			   id->len == HK_NODE_ID_BYTES;
		if (any) {
			hk_peers_note_shed(job, id->data, process->remote->shed_at_source);
		}
	}
}

static uint64_t silence(const struct hk_collector *collector, const struct hk_job *job,
			const Hk__Node *node, uint64_t now_ns)
{
	struct hk_peer *peer;
	HASH_FIND(hh, collector->peers, node->id.data, node->id.len, peer);
	/* One that an earlier collector knew is expected from when this one took the job up. */
	uint64_t since = peer ? peer->seen_ns : job->opened_ns;
	return now_ns > since ? now_ns - since : 0;
}

void hk_peers_look(const struct hk_collector *collector, struct hk_job *job)
{
	uint64_t now_ns = hk_clock_monotonic_ns();
	for (size_t i = 0; i < job->state->n_nodes; i++) {
		Hk__Node *node = job->state->nodes[i];
		struct hk_peer *peer;
		HASH_FIND(hh, collector->peers, node->id.data, node->id.len, peer);
		node->seen_unix_ns = peer ? peer->seen_unix_ns : node->seen_unix_ns;
		bool connected = silence(collector, job, node, now_ns) < HK_PEERS_SILENT_NS;
		if (connected != (node->connected != 0) && !node->complete) {
			hk_info("node %s job=%s host=%s", connected ? "connected" : "is silent",
				job->state->id, node->host);
			job->changed = true;
		}
		node->connected = connected;
	}
}

uint32_t hk_peers_awaited(const struct hk_collector *collector, const struct hk_job *job)
{
	uint64_t now_ns = hk_clock_monotonic_ns();
	uint32_t count = 0;
	for (size_t i = 0; i < job->state->n_nodes; i++) {
		const Hk__Node *node = job->state->nodes[i];
		count +=
		    !node->complete && silence(collector, job, node, now_ns) < HK_PEERS_LOST_NS;
	}
	return count;
}
