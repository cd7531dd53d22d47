/* connection.h: one client's stream, with the protocol of an NNG REQ socket (nng_framing.h).
 *
 * NNG carries the bytes, with TLS too. The rest is done here, so that a client without a right is
 * refused before its message is unpacked or much of it is held, and so that no client holds memory
 * for ever. Callbacks run on NNG's threads and share a hub with the collector's one thread. Only
 * that thread frees.
 */
#ifndef HK_COLLECTOR_SERVER_CONNECTION_H
#define HK_COLLECTOR_SERVER_CONNECTION_H

#include <nng/nng.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/server/hub.h"
#include "collector/server/nng_framing.h"

/* What is being received. */
enum hk_phase {
	HK_PHASE_GREETING,
	HK_PHASE_HEAD,
	HK_PHASE_FRONT, /* the part of a message that has to hold the token */
	HK_PHASE_BODY,
	HK_PHASE_WHOLE, /* it is here, and waits for memory to be unpacked into */
};

/* Answers up to this size go in one write with their head. */
#define HK_CONNECTION_SHORT 128u

/* A message on its way. */
struct hk_outgoing {
	struct hk_outgoing *prev, *next;
	struct hk_account *account; /* that pays for it */
	uint8_t head[HK_FRAMING_HEAD_MAX + HK_FRAMING_TRACE_MAX + HK_CONNECTION_SHORT];
	size_t head_size;
	uint8_t *bytes; /* owned */
	size_t size;	/* of them */
	size_t sent;	/* of both */
};

struct hk_connection {
	struct hk_connection *prev, *next; /* hub's lock */
	struct hk_hub *hub;
	nng_stream *stream;
	char peer[HK_REJECTIONS_PEER_BYTES];
	enum hk_right given;
	bool local;
	uint64_t opened_ns;
	/* Receiving. Used by the callback, or by the thread that resumes receiving. */
	nng_aio *receiving;
	enum hk_phase phase;
	uint8_t head[HK_FRAMING_HEAD_MAX];
	uint8_t *body;
	size_t size;  /* of the message */
	size_t until; /* bytes that this phase wants */
	size_t got;
	size_t room;	      /* of `body` */
	uint64_t deadline_ns; /* 0: none */
	uint64_t head_ns;     /* monotonic: when the head of what is being received came in */
	enum hk_right right;  /* of the message */
	const char *user;     /* of the message: whose jobs it may see; policy.h */
	/* The rest: hub's lock. */
	struct hk_account *account; /* of the last message */
	enum hk_held kind;	    /* of what is received */
	size_t holding;		    /* of the account's `held`, for `body` and what it becomes */
	uint64_t asked_ns;	    /* monotonic: time of its last request, or of its connection */
	nng_aio *sending;
	struct hk_outgoing *outgoing; /* the first one is under way if `busy` */
	bool busy;
	uint64_t send_deadline_ns;
	size_t unsent;
	uint32_t inflight;
	bool parked;	    /* nothing is received until there is room: resume() */
	bool opening;	    /* not to be freed yet */
	bool known;	    /* has asked something that it may ask */
	bool last_answer;   /* ends when all is sent, and the client closed or had time to read */
	uint64_t linger_ns; /* monotonic: how long it has; 0: not all is sent */
	uint8_t rest[64];   /* further bytes of the peer, which are dropped */
	bool ended;
};

/* Ends CONNECTION: as a refusal for the reason WHY, or normally if WHY is NULL. The hub's lock is
 * held. */
void hk_connection_end(struct hk_connection *connection, const char *why);

/* Gives AIO until DEADLINE_NS (monotonic, 0: for ever). */
void hk_connection_deadline(nng_aio *aio, uint64_t deadline_ns);
/* Returns why the stream ended, by RESULT of NNG, or NULL if it ended normally. LATE is the reason
 * if it took too long. */
const char *hk_connection_failure(const struct hk_connection *connection, int result,
				  const char *late);

#endif
