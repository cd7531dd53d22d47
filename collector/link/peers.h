/* peers.h: on a root, the leaves that have reported to it.
 *
 * A node of a job (job_nodes.h) lives as long as its leaf reports, once a second. One thread.
 */
#ifndef HK_COLLECTOR_LINK_PEERS_H
#define HK_COLLECTOR_LINK_PEERS_H

#include <stddef.h>
#include <stdint.h>
#include <uthash.h>

#include "collector/link/node.h"
#include "collector/model/job.h"
#include "wire/access.h"

struct hk_collector;

#define HK_PEERS_SILENT_NS UINT64_C(5000000000) /* without a report: not connected */
#define HK_PEERS_LOST_NS UINT64_C(300000000000) /* a job waits no longer for its node */

struct hk_peer {
	uint8_t id[HK_NODE_ID_BYTES];
	UT_hash_handle hh;		  /* hk_collector::peers */
	const struct hk_account *account; /* that it was new for; NULL: none */
	uint64_t epoch, number;		  /* of the last report taken */
	uint64_t sequence;		  /* of that report in a stream; 0: it came over a link */
	uint64_t seen_ns;		  /* monotonic; 0: never */
	uint64_t seen_unix_ns;
	uint64_t since_unix_ns; /* of the first report behind the last silence */
	struct hk_peer_facts {	/* as the last report has them */
		char host[65], version[33];
		char user[HK_ACCESS_USER_MAX + 1]; /* user of its token; "": no user's */
		uint64_t unsent_bytes, shed_records, clock_bound_ns;
		uint32_t jobs;
	} facts;
};

/* Finds the leaf that reports as NODE for ACCOUNT (NULL: without limit), or makes it. Returns 0,
 * -EINVAL if NODE is no id, -ENOSPC if there are too many leaves, -EDQUOT if there are too many of
 * this account, or -ENOMEM. */
int hk_peers_take(struct hk_collector *collector, const Hk__Node *node,
		  const struct hk_account *account, struct hk_peer **ret_peer);
/* All leaves count as heard at NOW_NS: what they say waits to be read. */
void hk_peers_hear(struct hk_collector *collector, uint64_t now_ns);
/* PEER reports at NOW, for USER. */
void hk_peers_record_report(struct hk_peer *peer, const Hk__LeafReport *report, const char *user,
			    uint64_t now_unix_ns);
/* Lists the leaves that USER ("": all users) may see, by host. The caller frees the list as one
 * block; the texts belong to the peers. Returns 0 or -ENOMEM. */
int hk_peers_list(const struct hk_collector *collector, const char *user, Hk__Leaf ***ret_list,
		  size_t *ret_count);
void hk_peers_free_all(struct hk_collector *collector);

/* Brings `connected` of the job's nodes up to date. */
void hk_peers_update_connected(const struct hk_collector *collector, struct hk_job *job);

/* Returns the number of nodes of JOB whose part is not complete here, without those that are given
 * up. */
uint32_t hk_peers_missing(const struct hk_collector *collector, const struct hk_job *job);

#endif
