/* hub.h: all connections of a server and the requests that came over them.
 *
 * NNG's threads add, under the lock. The collector's one thread answers, and only that thread
 * removes and frees. Lifetime: the server's.
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
	struct hk_connection *connection; /* NULL: the client closed it */
	struct hk_account *account;	  /* that pays for it */
	uint8_t trace[HK_FRAMING_TRACE_MAX];
	uint32_t trace_size;
	Hk__Request *request; /* owned; NULL: the bytes were no request */
	struct hk_request_wait wait;
	enum hk_held kind;
	size_t held;   /* bytes of the account's */
	uint64_t turn; /* of the server, in which it was looked at last */
};

/* What all connections of a server share. */
struct hk_hub {
	const struct hk_policy *policy;
	hk_request_right right;
	struct hk_rejections *refusals;
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

/* Whether connections of ACCOUNT have shown that they may ask. */
bool hk_hub_is_known(const struct hk_hub *hub, const struct hk_account *account);
/* Counts a connection of ACCOUNT that begins or ends. */
void hk_hub_enter(struct hk_hub *hub, struct hk_account *account);
void hk_hub_leave(struct hk_hub *hub, struct hk_account *account);

/* Queues INCOMING of its account. */
void hk_hub_queue(struct hk_hub *hub, struct hk_incoming *incoming);

/* Wakes the collector's thread. Any thread. */
void hk_hub_wake(const struct hk_hub *hub);

#endif
