/* hub.h: all connections of a server and the requests that came over them.
 *
 * NNG's threads put in, under the lock; the collector's one thread answers, and alone takes out and
 * frees. Lifetime: the server's.
 */
#ifndef HK_COLLECTOR_HUB_H
#define HK_COLLECTOR_HUB_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "collector/answer.h"
#include "collector/framing.h"
#include "collector/policy.h"
#include "collector/refusals.h"

struct hk_connection;

/* A request that has come: the collector's thread answers it. */
struct hk_incoming {
	struct hk_incoming *prev, *next;  /* hk_hub::incoming */
	struct hk_connection *connection; /* NULL: the asker has gone */
	uint8_t trace[HK_FRAMING_TRACE_MAX];
	uint32_t trace_size;
	Hk__Request *request; /* owned; NULL: what came was no request */
	struct hk_answer_wait wait;
	size_t held; /* bytes of the hub's */
};

/* What all connections of a server share. */
struct hk_hub {
	const struct hk_policy *policy;
	struct hk_refusals *refusals;
	int event_fd;	      /* readable: the collector's thread has something to do */
	pthread_mutex_t lock; /* of the rest, and of connections' parts that say so */
	struct hk_connection *connections; /* in order of coming */
	struct hk_incoming *incoming;	   /* in order of coming */
	uint32_t count;			   /* connections */
	uint32_t ended;			   /* of them: to be freed */
	size_t held;   /* bytes of requests, whole or in part, that are not answered */
	size_t unsent; /* bytes of answers, as they lie in memory */
};

/* ---- the hub's lock is held ---- */

/* The oldest stranger that still talks, of PEER or (NULL) of any but local ones; NULL: none.
 * *COUNT: how many there are. A stranger has not asked yet what it may ask. */
struct hk_connection *hk_hub_stranger(const struct hk_hub *hub, const char *peer,
				      uint32_t *ret_count);

/* ---- the collector's thread, the lock not held ---- */

/* Frees all connections that have ended; or, ALL, every one. */
void hk_hub_reap(struct hk_hub *hub, bool all);

/* True if INCOMING's asker reads what it is sent, or has gone: then there is room for an answer. */
bool hk_hub_reads(struct hk_hub *hub, const struct hk_incoming *incoming);

/* Sends BYTES (owned from now on, NULL: an empty answer) to who asked INCOMING, and frees that. */
void hk_hub_answer(struct hk_hub *hub, struct hk_incoming *incoming, uint8_t *bytes, size_t size);

/* Wakes the collector's thread. Any thread. */
void hk_hub_wake(const struct hk_hub *hub);

#endif
