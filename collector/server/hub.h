/* hub.h: all connections of a server and the requests that came over them.
 *
 * NNG's threads put in, under the lock; the collector's one thread answers, and alone takes out and
 * frees. Lifetime: the server's.
 */
#ifndef HK_COLLECTOR_SERVER_HUB_H
#define HK_COLLECTOR_SERVER_HUB_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/server/handler.h"
#include "collector/server/nng_framing.h"
#include "collector/server/policy.h"
#include "collector/server/quota.h"
#include "collector/server/rejections.h"

struct hk_connection;

/* A request that has come: the collector's thread answers it. */
struct hk_incoming {
	struct hk_incoming *prev, *next;  /* hk_account::incoming */
	struct hk_connection *connection; /* NULL: the asker has gone */
	struct hk_account *account;	  /* that pays for it */
	uint8_t trace[HK_FRAMING_TRACE_MAX];
	uint32_t trace_size;
	Hk__Request *request; /* owned; NULL: what came was no request */
	struct hk_request_wait wait;
	enum hk_held kind;
	size_t held;   /* bytes of the account's */
	uint64_t turn; /* of the server, in which it was looked at last */
};

/* What all connections of a server share. */
struct hk_hub {
	const struct hk_policy *policy;
	struct hk_refusals *refusals;
	int event_fd;	      /* readable: the collector's thread has something to do */
	pthread_mutex_t lock; /* of the rest, and of connections' parts that say so */
	struct hk_connection *connections; /* in order of coming, those that were parked behind */
	struct hk_quota *quota;
	uint32_t count;	     /* connections */
	uint32_t ended;	     /* of them: to be freed */
	uint32_t known;	     /* that show a token, and have not ended */
	uint32_t known_max;  /* of them */
	uint32_t queued;     /* requests that are not answered */
	uint64_t virtual_ns; /* hk_account::served_ns of the one served last */
	size_t unsent;	     /* bytes of answers, as they lie in memory */
};

/* ---- the hub's lock is held ---- */

/* The oldest stranger that still talks, of PEER or (NULL) of any but local ones; NULL: none.
 * *COUNT: how many there are. A stranger has not asked yet what it may ask. */
struct hk_connection *hk_hub_stranger(const struct hk_hub *hub, const char *peer,
				      uint32_t *ret_count);

/* Gives CONNECTION, which has just shown the token of ACCOUNT, to that account. Where all known
 * connections are taken, the idlest one of the account with most ends for it, if that has more.
 * NULL, or why not, a literal. */
const char *hk_hub_join(struct hk_hub *hub, struct hk_connection *connection,
			struct hk_account *account);
/* Counts CONNECTION, which begins or ends, in its account. */
void hk_hub_enter(struct hk_hub *hub, const struct hk_connection *connection);
void hk_hub_leave(struct hk_hub *hub, const struct hk_connection *connection);

/* Queues INCOMING of its account. */
void hk_hub_queue(struct hk_hub *hub, struct hk_incoming *incoming);

/* ---- the collector's thread, the lock not held ---- */

/* Frees all connections that have ended; or, ALL, every one. */
void hk_hub_reap(struct hk_hub *hub, bool all);

/* The next request to look at in TURN: of the account whose requests took least time so far, and
 * whose asker reads what it is sent. Each one is returned once a turn. NULL: none is left. */
struct hk_incoming *hk_hub_next(struct hk_hub *hub, uint64_t turn);

/* Books the time that a request of ACCOUNT took. */
void hk_hub_spent(struct hk_hub *hub, struct hk_account *account, uint64_t ns);

/* Sends BYTES (owned from now on, NULL: an empty answer) to who asked INCOMING, and frees that. */
void hk_hub_answer(struct hk_hub *hub, struct hk_incoming *incoming, uint8_t *bytes, size_t size);

/* Wakes the collector's thread. Any thread. */
void hk_hub_wake(const struct hk_hub *hub);

#endif
