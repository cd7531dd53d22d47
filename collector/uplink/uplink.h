/* uplink.h: a leaf's link to what keeps its data: it offers requests and learns what is stored.
 *
 * Up to HK_UPLINK_SLOTS exchanges are under way at one time, each in a slot. Nothing here waits. A
 * link that breaks or falls silent is given up as a whole: the exchanges under way are dropped,
 * whether they arrived or not, `generation` rises, and a new connection is tried. The collector's
 * one thread calls all functions here. Each kind of link is one table of functions
 * (uplink_kind.h): uplink_nng, to a root; uplink_engine, to a stream engine.
 */
#ifndef HK_COLLECTOR_UPLINK_UPLINK_H
#define HK_COLLECTOR_UPLINK_UPLINK_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/message.h"

#define HK_UPLINK_CHUNKS 8u		       /* the window of chunks */
#define HK_UPLINK_SLOTS (HK_UPLINK_CHUNKS + 3) /* and a report, a clock probe and stacks */

struct hk_uplink;

struct hk_uplink_reply {
	unsigned slot;
	Hk__Response *response;	       /* the caller's to free; NULL: it makes no sense */
	uint64_t sent_ns, received_ns; /* monotonic, as close to the network as we get */
};

/* Closes; accepts NULL, returns NULL. */
struct hk_uplink *hk_uplink_free(struct hk_uplink *uplink);

/* Readable when there is something to tend. */
int hk_uplink_fd(const struct hk_uplink *uplink);

/* Handles finished exchanges, gives up a connection that does not work, and tries new ones. */
void hk_uplink_tend(struct hk_uplink *uplink, uint64_t now_ns);
/* When to tend it at the latest, monotonic. */
uint64_t hk_uplink_due(const struct hk_uplink *uplink);

bool hk_uplink_connected(const struct hk_uplink *uplink);
/* Returns whether this connection has brought an answer that is no refusal. */
bool hk_uplink_replied(const struct hk_uplink *uplink);
/* Returns why there is no connection, or "" if there is one or none was tried yet. */
const char *hk_uplink_problem(const struct hk_uplink *uplink);
/* Rises with every connection that is given up. */
uint64_t hk_uplink_generation(const struct hk_uplink *uplink);

/* Sends REQUEST in a free slot. Returns the slot's number, -EAGAIN if there is no connection or no
 * free slot, -EMSGSIZE or -ENOMEM. */
int hk_uplink_send(struct hk_uplink *uplink, const Hk__Request *request);

/* Takes an answer that has come, and frees its slot. Returns 1, or 0 if no answer has come. */
int hk_uplink_next(struct hk_uplink *uplink, struct hk_uplink_reply *ret_reply);

/* Gives the connection up for a reason that the caller found: the root refuses all, for TEXT, or
 * its answers are invalid. */
void hk_uplink_refused(struct hk_uplink *uplink, uint64_t now_ns, const char *text);
void hk_uplink_senseless(struct hk_uplink *uplink, uint64_t now_ns);

#endif
