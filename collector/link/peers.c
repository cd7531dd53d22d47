#include "collector/link/peers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/clock.h"
#include "base/log.h"
#include "collector/model/collector.h"
#include "collector/model/job.h"
#include "collector/server/quota.h"

#define PEERS_MAX 4096u

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
		    /* What a stream has may be of days ago. */
		    !make_room(collector, NULL, collector->feed ? 0 : HK_PEERS_LOST_NS)) {
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

void hk_peers_hear(struct hk_collector *collector, uint64_t now_ns)
{
	struct hk_peer *peer, *next;
	HASH_ITER (hh, collector->peers, peer, next) {
		peer->seen_ns = now_ns;
	}
}

void hk_peers_record_report(struct hk_peer *peer, const Hk__LeafReport *report, const char *user,
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

static uint64_t silence(const struct hk_collector *collector, const struct hk_job *job,
			const Hk__Node *node, uint64_t now_ns)
{
	struct hk_peer *peer;
	HASH_FIND(hh, collector->peers, node->id.data, node->id.len, peer);
	/* One that an earlier collector knew is expected from when this one took the job up. */
	uint64_t since = peer ? peer->seen_ns : job->opened_ns;
	return now_ns > since ? now_ns - since : 0;
}

void hk_peers_update_connected(const struct hk_collector *collector, struct hk_job *job)
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

uint32_t hk_peers_missing(const struct hk_collector *collector, const struct hk_job *job)
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
