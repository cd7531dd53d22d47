#include "collector/connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/clock.h"
#include "collector/framing.h"

#define FRONT_MAX (64u << 10)		  /* read of a message before its token is known */
#define HELD_MAX (UINT64_C(256) << 20)	  /* of all connections together */
#define INFLIGHT_MAX 16u		  /* requests of one connection that wait for an answer */
#define STRANGER_NS UINT64_C(10000000000) /* to ask the first thing that may be asked */
#define MESSAGE_NS UINT64_C(60000000000)  /* for all of a message, once it has begun */
#define IDLE_NS UINT64_C(300000000000)	  /* between two messages, over TCP */
#define LINGER_NS UINT64_C(2000000000)	  /* after the last answer */
#define SEND_NS UINT64_C(30000000000)	  /* for an answer to be read, and */
#define SEND_BYTES_PER_S (256u << 10)	  /* more if it is long */

static const char why_token[] = "no token, or a wrong one";
static const char why_right[] = "its token may only read";
static const char why_request[] = "not a request";
static const char why_memory[] = "out of memory";

static void aio_deadline(nng_aio *aio, uint64_t deadline_ns)
{
	uint64_t now = hk_clock_monotonic_ns();
	uint64_t left = deadline_ns > now ? (deadline_ns - now) / 1000000u : 0;
	nng_aio_set_timeout(aio, deadline_ns == 0 ? NNG_DURATION_INFINITE : (nng_duration)left + 1);
}

void hk_connection_end(struct hk_connection *connection, const char *why)
{
	if (connection->ended) {
		return;
	}
	if (why) {
		hk_refusals_note(connection->hub->refusals, connection->peer, why);
	}
	connection->ended = true;
	connection->hub->ended++;
	hk_hub_wake(connection->hub);
}

static void end(struct hk_connection *connection, const char *why)
{
	pthread_mutex_lock(&connection->hub->lock);
	hk_connection_end(connection, why);
	pthread_mutex_unlock(&connection->hub->lock);
}

/* Why the stream ended as RESULT of NNG says, or NULL: as streams end. LATE: what it is called if
 * it took too long. */
static const char *failure(const struct hk_connection *connection, int result, const char *late)
{
	switch (result) {
	case NNG_ETIMEDOUT:
		return late;
	case NNG_ECRYPTO:
	case NNG_EPEERAUTH:
		return "no TLS, or a certificate that is not trusted";
	default:
		/* With a right it has asked: if that was refused, it is counted already. */
		return connection->known || connection->local || connection->right != HK_RIGHT_NONE
			   ? NULL
			   : "left without a request";
	}
}

/* ---- sending ---- */

/* Sends on with the first of the queue. */
static void post_send(struct hk_connection *connection, const struct hk_outgoing *outgoing)
{
	nng_iov parts[2];
	unsigned count = 0;
	size_t sent = outgoing->sent;
	if (sent < outgoing->head_size) {
		parts[count++] = (nng_iov){(void *)(uintptr_t)(outgoing->head + sent),
					   outgoing->head_size - sent};
		sent = outgoing->head_size;
	}
	if (sent < outgoing->head_size + outgoing->size) {
		size_t done = sent - outgoing->head_size;
		parts[count++] = (nng_iov){outgoing->bytes + done, outgoing->size - done};
	}
	nng_aio_set_iov(connection->sending, count, parts);
	aio_deadline(connection->sending, connection->send_deadline_ns);
	nng_stream_send(connection->stream, connection->sending);
}

/* What is to be sent now, if nothing is under way; the hub's lock is held. */
static const struct hk_outgoing *next_outgoing(struct hk_connection *connection)
{
	struct hk_outgoing *outgoing = connection->outgoing;
	if (connection->busy || connection->ended || !outgoing) {
		return NULL;
	}
	connection->busy = true;
	connection->send_deadline_ns = hk_clock_monotonic_ns() + SEND_NS +
				       outgoing->size / SEND_BYTES_PER_S * UINT64_C(1000000000);
	return outgoing;
}

/* Bytes of memory: short answers that nobody reads are some, too. */
static size_t held_by(const struct hk_outgoing *outgoing)
{
	return sizeof(*outgoing) + outgoing->size;
}

static void drop_outgoing(struct hk_connection *connection)
{
	struct hk_outgoing *outgoing = connection->outgoing;
	DL_DELETE(connection->outgoing, outgoing);
	connection->unsent -= held_by(outgoing);
	connection->hub->unsent -= held_by(outgoing);
	free(outgoing->bytes);
	free(outgoing);
}

/* What we close while it is on its way, or with something unread, may never arrive: so the asker is
 * to hang up. */
static void linger(struct hk_connection *connection)
{
	nng_iov part = {connection->rest, sizeof(connection->rest)};
	nng_aio_set_iov(connection->sending, 1, &part);
	aio_deadline(connection->sending, connection->linger_ns);
	nng_stream_recv(connection->stream, connection->sending);
}

/* On one of NNG's threads. */
static void send_done(void *data)
{
	struct hk_connection *connection = data;
	struct hk_hub *hub = connection->hub;
	int r = nng_aio_result(connection->sending);
	pthread_mutex_lock(&hub->lock);
	const struct hk_outgoing *next = NULL;
	bool lingers = connection->linger_ns > 0 && !connection->ended;
	if (lingers && (r != 0 || hk_clock_monotonic_ns() >= connection->linger_ns)) {
		hk_connection_end(connection, NULL);
		lingers = false;
	} else if (r != 0) {
		hk_connection_end(connection, failure(connection, r, "does not read its answer"));
	} else if (!connection->ended && !lingers) {
		struct hk_outgoing *outgoing = connection->outgoing;
		outgoing->sent += nng_aio_count(connection->sending);
		next = outgoing;
		if (outgoing->sent == outgoing->head_size + outgoing->size) {
			drop_outgoing(connection);
			connection->busy = false;
			next = next_outgoing(connection);
			hk_hub_wake(hub);
		}
		if (!connection->outgoing && connection->last_answer) {
			connection->busy = true;
			connection->linger_ns = hk_clock_monotonic_ns() + LINGER_NS;
			lingers = true;
		}
	}
	pthread_mutex_unlock(&hub->lock);
	if (next) {
		post_send(connection, next);
	} else if (lingers) {
		linger(connection);
	}
}

/* Queues OUTGOING, which it owns from now on. The hub's lock is not held. */
static void queue(struct hk_connection *connection, struct hk_outgoing *outgoing)
{
	struct hk_hub *hub = connection->hub;
	pthread_mutex_lock(&hub->lock);
	DL_APPEND(connection->outgoing, outgoing);
	connection->unsent += held_by(outgoing);
	hub->unsent += held_by(outgoing);
	const struct hk_outgoing *next = next_outgoing(connection);
	pthread_mutex_unlock(&hub->lock);
	if (next) {
		post_send(connection, next);
	}
}

int hk_connection_send(struct hk_connection *connection, const uint8_t *trace, size_t trace_size,
		       uint8_t *bytes, size_t size)
{
	struct hk_outgoing *outgoing = calloc(1, sizeof(*outgoing));
	if (!outgoing) {
		free(bytes);
		return -ENOMEM;
	}
	outgoing->head_size = hk_framing_head(connection->local, trace_size + size, outgoing->head);
	memcpy(outgoing->head + outgoing->head_size, trace, trace_size);
	outgoing->head_size += trace_size;
	if (size <= HK_CONNECTION_SHORT) {
		/* Over TLS each part is a record: who asks for the time would wait for the second.
		 */
		memcpy(outgoing->head + outgoing->head_size, bytes, size);
		outgoing->head_size += size;
		free(bytes);
	} else {
		outgoing->bytes = bytes;
		outgoing->size = size;
	}
	queue(connection, outgoing);
	return 0;
}

static int send_greeting(struct hk_connection *connection)
{
	struct hk_outgoing *outgoing = calloc(1, sizeof(*outgoing));
	if (!outgoing) {
		return -ENOMEM;
	}
	memcpy(outgoing->head, hk_framing_greeting, HK_FRAMING_GREETING_BYTES);
	outgoing->head_size = HK_FRAMING_GREETING_BYTES;
	queue(connection, outgoing);
	return 0;
}

/* ---- what came ---- */

/* Tells the asker, and remembers, that it may not: WHY. LAST: that was its last request. */
static const char *turn_away(struct hk_connection *connection, const char *why, bool last)
{
	size_t trace = hk_framing_trace(connection->body, connection->got), size;
	char text[192];
	Hk__Response response = HK__RESPONSE__INIT;
	uint8_t *bytes;
	snprintf(text, sizeof(text), "the collector refuses: %s; --token-file FILE shows another",
		 why);
	response.error = -EACCES;
	response.text = text;
	hk_refusals_note(connection->hub->refusals, connection->peer, why);
	if (hk_message_pack(&response.base, &bytes, &size) < 0) {
		return why_memory;
	}
	pthread_mutex_lock(&connection->hub->lock);
	connection->last_answer |= last;
	pthread_mutex_unlock(&connection->hub->lock);
	return hk_connection_send(connection, connection->body, trace, bytes, size) < 0 ? why_memory
											: NULL;
}

/* Sets the right of the message of which the first `got` bytes are there, and whose it is. */
static void judge(struct hk_connection *connection)
{
	const uint8_t *token;
	size_t trace = hk_framing_trace(connection->body, connection->got);
	size_t size =
	    trace ? hk_policy_find_token(connection->body + trace, connection->got - trace, &token)
		  : 0;
	connection->right = HK_RIGHT_NONE;
	if (size) {
		connection->right =
		    hk_policy_right(connection->hub->policy, token, size, &connection->user);
	}
}

/* Hands INCOMING to the collector's thread; the body's part of hub->held goes with it. */
static void hand_over(struct hk_connection *connection, struct hk_incoming *incoming)
{
	struct hk_hub *hub = connection->hub;
	pthread_mutex_lock(&hub->lock);
	incoming->held = connection->holding;
	connection->holding = 0;
	incoming->wait.received_ns = connection->head_ns;
	incoming->wait.user = connection->user;
	incoming->connection = connection->ended ? NULL : connection; /* or it is being freed */
	DL_APPEND(hub->incoming, incoming);
	connection->known = true;
	connection->inflight++;
	pthread_mutex_unlock(&hub->lock);
	hk_hub_wake(hub);
}

static void let_go(struct hk_connection *connection)
{
	pthread_mutex_lock(&connection->hub->lock);
	connection->hub->held -= connection->holding;
	connection->holding = 0;
	pthread_mutex_unlock(&connection->hub->lock);
}

static void await_message(struct hk_connection *connection)
{
	free(connection->body);
	connection->body = NULL;
	let_go(connection);
	connection->phase = HK_PHASE_HEAD;
	connection->got = 0;
	connection->until = hk_framing_head_size(connection->local);
	connection->deadline_ns = connection->local ? 0 : hk_clock_monotonic_ns() + IDLE_NS;
}

/* The whole message is there. */
static const char *take_message(struct hk_connection *connection)
{
	size_t trace = hk_framing_trace(connection->body, connection->size);
	ProtobufCMessage *message = NULL;
	if (trace == 0) {
		return why_request;
	}
	int r = hk_message_unpack(&hk__request__descriptor, connection->body + trace,
				  connection->size - trace, &message);
	Hk__Request *request = r < 0 ? NULL : (Hk__Request *)message;
	const char *why = NULL;
	if (!request) {
		hk_refusals_note(connection->hub->refusals, connection->peer, why_request);
	}
	if (request && hk_policy_needs(request->what_case) > connection->right) {
		why = turn_away(connection, why_right, false);
		hk__request__free_unpacked(request, NULL);
	} else {
		struct hk_incoming *incoming = calloc(1, sizeof(*incoming));
		if (!incoming) {
			if (request) {
				hk__request__free_unpacked(request, NULL);
			}
			return why_memory;
		}
		incoming->request = request;
		incoming->trace_size = (uint32_t)trace;
		memcpy(incoming->trace, connection->body, trace);
		hand_over(connection, incoming);
	}
	await_message(connection);
	return why;
}

static const char *take_greeting(struct hk_connection *connection)
{
	const char *why = hk_framing_judge(connection->head);
	if (!why) {
		await_message(connection);
	}
	return why;
}

static const char *take_head(struct hk_connection *connection)
{
	const char *why = hk_framing_size(connection->local, connection->head, &connection->size);
	bool trusted = connection->given != HK_RIGHT_NONE;
	connection->head_ns = hk_clock_monotonic_ns();
	connection->right = connection->given;
	connection->user = "";
	connection->phase = trusted ? HK_PHASE_BODY : HK_PHASE_FRONT;
	connection->until = trusted || connection->size < FRONT_MAX ? connection->size : FRONT_MAX;
	connection->got = 0;
	return why;
}

static const char *take_front(struct hk_connection *connection)
{
	judge(connection);
	if (connection->right == HK_RIGHT_NONE ||
	    (connection->right < HK_RIGHT_CONTROL && connection->size > connection->got)) {
		const char *why = connection->right == HK_RIGHT_NONE ? why_token : why_right;
		return turn_away(connection, why, true);
	}
	if (connection->got == connection->size) {
		return take_message(connection);
	}
	connection->phase = HK_PHASE_BODY;
	connection->until = connection->size;
	return NULL;
}

static const char *take(struct hk_connection *connection)
{
	switch (connection->phase) {
	case HK_PHASE_GREETING:
		return take_greeting(connection);
	case HK_PHASE_HEAD:
		return take_head(connection);
	case HK_PHASE_FRONT:
		return take_front(connection);
	default:
		return take_message(connection);
	}
}

/* ---- receiving ---- */

static void post_receive(struct hk_connection *connection)
{
	uint8_t *into = connection->phase <= HK_PHASE_HEAD ? connection->head : connection->body;
	nng_iov part = {into + connection->got, connection->until - connection->got};
	uint64_t deadline = connection->deadline_ns;
	pthread_mutex_lock(&connection->hub->lock);
	bool known = connection->known;
	pthread_mutex_unlock(&connection->hub->lock);
	if (!known) {
		uint64_t first = connection->opened_ns + STRANGER_NS;
		deadline = deadline == 0 || first < deadline ? first : deadline;
	}
	nng_aio_set_iov(connection->receiving, 1, &part);
	aio_deadline(connection->receiving, deadline);
	nng_stream_recv(connection->stream, connection->receiving);
}

/* True if it may receive on: the hub's lock is held. */
static bool has_room(const struct hk_connection *connection)
{
	const struct hk_hub *hub = connection->hub;
	size_t more = connection->until - connection->holding;
	bool fits =
	    connection->phase <= HK_PHASE_HEAD || hub->held == 0 || hub->held + more <= HELD_MAX;
	return fits && connection->inflight < INFLIGHT_MAX;
}

/* Receives on, or parks it until there is room for what comes. */
static void receive_on(struct hk_connection *connection)
{
	struct hk_hub *hub = connection->hub;
	bool body = connection->phase > HK_PHASE_HEAD;
	pthread_mutex_lock(&hub->lock);
	connection->parked = !has_room(connection);
	bool stop = connection->parked || connection->ended || connection->last_answer;
	if (!stop && body) {
		hub->held += connection->until - connection->holding;
		connection->holding = connection->until;
	}
	pthread_mutex_unlock(&hub->lock);
	if (stop) {
		return;
	}
	if (body) {
		uint8_t *more = realloc(connection->body, connection->until);
		if (!more) {
			end(connection, why_memory);
			return;
		}
		connection->body = more;
	}
	post_receive(connection);
}

/* On one of NNG's threads. */
static void receive_done(void *data)
{
	struct hk_connection *connection = data;
	int r = nng_aio_result(connection->receiving);
	if (r != 0) {
		bool amid = connection->got > 0 || connection->phase != HK_PHASE_HEAD;
		pthread_mutex_lock(&connection->hub->lock);
		const char *late = !connection->known || amid ? "says nothing" : NULL;
		hk_connection_end(connection, failure(connection, r, late));
		pthread_mutex_unlock(&connection->hub->lock);
		return;
	}
	if (connection->got == 0 && connection->phase == HK_PHASE_HEAD) {
		connection->deadline_ns = hk_clock_monotonic_ns() + MESSAGE_NS;
	}
	connection->got += nng_aio_count(connection->receiving);
	if (connection->got < connection->until) {
		post_receive(connection);
		return;
	}
	const char *why = take(connection);
	if (why) {
		end(connection, why);
	} else {
		receive_on(connection);
	}
}

/* One that is parked and need not be any more, as if it never had been; NULL: none. */
static struct hk_connection *unpark(struct hk_hub *hub)
{
	struct hk_connection *connection;
	pthread_mutex_lock(&hub->lock);
	DL_FOREACH (hub->connections, connection) {
		if (connection->parked && !connection->ended && has_room(connection)) {
			connection->parked = false;
			break;
		}
	}
	pthread_mutex_unlock(&hub->lock);
	return connection;
}

void hk_connection_resume(struct hk_hub *hub)
{
	struct hk_connection *connection;
	while ((connection = unpark(hub)) != NULL) {
		receive_on(connection);
	}
}

/* ---- life ---- */

int hk_connection_open(struct hk_hub *hub, nng_stream *stream, const char *peer,
		       enum hk_right given, bool local)
{
	struct hk_connection *connection = calloc(1, sizeof(*connection));
	if (!connection) {
		return -ENOMEM;
	}
	connection->hub = hub;
	connection->given = given;
	connection->local = local;
	connection->opened_ns = hk_clock_monotonic_ns();
	connection->phase = HK_PHASE_GREETING;
	connection->until = HK_FRAMING_GREETING_BYTES;
	snprintf(connection->peer, sizeof(connection->peer), "%s", peer);
	if (nng_aio_alloc(&connection->receiving, receive_done, connection) != 0 ||
	    nng_aio_alloc(&connection->sending, send_done, connection) != 0) {
		if (connection->receiving) {
			nng_aio_free(connection->receiving);
		}
		free(connection);
		return -ENOMEM;
	}
	connection->stream = stream;
	connection->opening = true;
	pthread_mutex_lock(&hub->lock);
	DL_APPEND(hub->connections, connection);
	hub->count++;
	pthread_mutex_unlock(&hub->lock);
	if (send_greeting(connection) < 0) {
		end(connection, why_memory);
	} else {
		post_receive(connection);
	}
	pthread_mutex_lock(&hub->lock);
	connection->opening = false;
	pthread_mutex_unlock(&hub->lock);
	return 0;
}

/* Stops the callbacks before anything else: they take the hub's lock. */
void hk_connection_free(struct hk_connection *connection)
{
	struct hk_hub *hub = connection->hub;
	nng_stream_close(connection->stream);
	nng_aio_stop(connection->receiving);
	nng_aio_stop(connection->sending);
	pthread_mutex_lock(&hub->lock);
	hub->held -= connection->holding;
	while (connection->outgoing) {
		drop_outgoing(connection);
	}
	pthread_mutex_unlock(&hub->lock);
	nng_aio_free(connection->receiving);
	nng_aio_free(connection->sending);
	nng_stream_free(connection->stream);
	free(connection->body);
	free(connection);
}
