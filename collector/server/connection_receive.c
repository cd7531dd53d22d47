#include "collector/server/connection_receive.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/clock.h"
#include "collector/server/admission.h"
#include "collector/server/connection.h"
#include "collector/server/connection_send.h"
#include "collector/server/hub.h"
#include "collector/server/nng_framing.h"
#include "collector/server/quota.h"
#include "wire/message.h"

#define FRONT_MAX (64u << 10) /* bytes read of a message before its token is known */
#define STEP_BYTES 4096u      /* bytes: first part of a message for which memory is reserved */
#define INFLIGHT_MAX 16u      /* most unanswered requests of one connection */
#define UNAUTHENTICATED_NS UINT64_C(10000000000) /* limit for the first permitted request */
#define MESSAGE_NS UINT64_C(60000000000)	 /* limit for a whole message from its first byte */
#define IDLE_NS UINT64_C(300000000000)		 /* limit between two messages over TCP */

static const char why_token[] = "no token, or a wrong one";
static const char why_right[] = "its token may only read";
static const char why_request[] = "not a request";
static const char why_memory[] = "out of memory";
static const char why_unpacked[] = "a message that takes too much memory";

static void end(struct hk_connection *connection, const char *why)
{
	pthread_mutex_lock(&connection->hub->lock);
	hk_connection_end(connection, why);
	pthread_mutex_unlock(&connection->hub->lock);
}

/* ---- what came ---- */

/* Answers with ERROR and WHY. If LAST, the connection accepts no further request. */
static const char *turn_away(struct hk_connection *connection, int error, const char *why,
			     bool last)
{
	size_t trace = hk_framing_trace(connection->body, connection->got), size;
	char text[192];
	Hk__Response response = HK__RESPONSE__INIT;
	uint8_t *bytes;
	snprintf(text, sizeof(text), "the collector refuses: %s%s", why,
		 error == -EACCES ? "; --token-file FILE shows another" : "");
	response.error = error;
	response.text = text;
	if (hk_message_pack(&response.base, &bytes, &size) < 0) {
		return why_memory;
	}
	pthread_mutex_lock(&connection->hub->lock);
	connection->last_answer |= last;
	pthread_mutex_unlock(&connection->hub->lock);
	return hk_connection_send(connection, connection->body, trace, bytes, size) < 0 ? why_memory
											: NULL;
}

static const char *refuse(struct hk_connection *connection, const char *why, bool last)
{
	hk_rejections_add(connection->hub->refusals, connection->peer, why);
	return turn_away(connection, -EACCES, why, last);
}

/* Moves the connection and its memory to ACCOUNT. Returns NULL, or the reason why that is refused.
 */
static const char *join(struct hk_connection *connection, struct hk_account *account)
{
	struct hk_hub *hub = connection->hub;
	pthread_mutex_lock(&hub->lock);
	struct hk_account *before = connection->account;
	const char *why = connection->ended ? NULL : hk_hub_join(hub, connection, account);
	if (connection->account != before) {
		hk_quota_release(hub->quota, before, connection, connection->kind,
				 connection->holding);
		hk_quota_hold(hub->quota, account, connection->kind, connection->holding);
	}
	pthread_mutex_unlock(&hub->lock);
	return why;
}

/* Sets the right, the user and the account of the message, of which the first `got` bytes have
 * come. Returns NULL, or why the account is refused. */
static const char *judge(struct hk_connection *connection)
{
	const uint8_t *token;
	size_t account = 0;
	size_t trace = hk_framing_trace(connection->body, connection->got);
	size_t size =
	    trace ? hk_policy_find_token(connection->body + trace, connection->got - trace, &token)
		  : 0;
	connection->right = HK_RIGHT_NONE;
	if (size) {
		connection->right = hk_policy_right(connection->hub->policy, token, size,
						    &connection->user, &account);
	}
	return connection->right == HK_RIGHT_NONE
		   ? NULL
		   : join(connection,
			  &connection->hub->quota->accounts[HK_ACCOUNT_TOKEN + account]);
}

/* Releases the connection's memory from the quota. The caller holds the hub's lock. */
static void let_go(struct hk_connection *connection)
{
	hk_quota_release(connection->hub->quota, connection->account, connection, connection->kind,
			 connection->holding);
	connection->holding = 0;
}

/* Queues INCOMING, which takes MEMORY bytes, for the collector's thread. */
static void hand_over(struct hk_connection *connection, struct hk_incoming *incoming, size_t memory)
{
	struct hk_hub *hub = connection->hub;
	pthread_mutex_lock(&hub->lock);
	struct hk_account *account = connection->account;
	bool leads = account->leading == connection;
	let_go(connection);
	hk_quota_hold(hub->quota, account, connection->kind, memory);
	account->leading = leads ? incoming : account->leading;
	incoming->account = incoming->wait.account = account;
	incoming->wait.quota = hub->quota;
	incoming->kind = connection->kind;
	incoming->held = memory;
	incoming->wait.received_ns = connection->head_ns;
	incoming->wait.user = connection->user;
	incoming->connection =
	    connection->ended ? NULL : connection; /* an ended connection may be freed meanwhile */
	hk_hub_queue(hub, incoming);
	connection->known = true;
	connection->asked_ns = connection->head_ns;
	connection->inflight++;
	pthread_mutex_unlock(&hub->lock);
	hk_hub_wake(hub);
}

static void await_message(struct hk_connection *connection)
{
	free(connection->body);
	connection->body = NULL;
	connection->room = 0;
	pthread_mutex_lock(&connection->hub->lock);
	let_go(connection);
	pthread_mutex_unlock(&connection->hub->lock);
	connection->phase = HK_PHASE_HEAD;
	connection->got = 0;
	connection->until = hk_framing_head_size(connection->local);
	connection->deadline_ns = connection->local ? 0 : hk_clock_monotonic_ns() + IDLE_NS;
}

/* Returns the most bytes that the unpacked message may take. */
static size_t unpacked_most(const struct hk_connection *connection)
{
	size_t most = hk_message_memory_max(connection->size);
	return most < HK_QUOTA_UNPACKED ? most : HK_QUOTA_UNPACKED;
}

/* Unpacks the message. Returns the request, or NULL if the message is invalid. Sets *RET_MEMORY to
 * the bytes that it takes. */
static Hk__Request *unpack(struct hk_connection *connection, size_t trace, size_t *ret_memory)
{
	ProtobufCMessage *message = NULL;
	size_t most = unpacked_most(connection), left = most;
	int r = hk_message_unpack_within(&hk__request__descriptor, connection->body + trace,
					 connection->size - trace, &left, &message);
	*ret_memory = most - left;
	if (r == -ENOMEM) {
		hk_quota_refuse(connection->hub->quota, connection->account, why_unpacked);
	} else if (r < 0) {
		hk_rejections_add(connection->hub->refusals, connection->peer, why_request);
	}
	return r < 0 ? NULL : (Hk__Request *)message;
}

/* Handles a whole message, for which memory is reserved. */
static const char *take_message(struct hk_connection *connection)
{
	size_t trace = hk_framing_trace(connection->body, connection->size), memory;
	if (trace == 0) {
		return why_request;
	}
	Hk__Request *request = unpack(connection, trace, &memory);
	const char *why = NULL;
	if (request && connection->hub->right(request->what_case) > connection->right) {
		why = refuse(connection, why_right, false);
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
		hand_over(connection, incoming, request ? memory : 0);
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
	connection->kind = connection->size < HK_QUOTA_SHORT_BYTES ? HK_HELD_SHORT : HK_HELD_LONG;
	connection->got = 0;
	return why;
}

static const char *take_front(struct hk_connection *connection)
{
	const char *full = judge(connection);
	if (full) {
		return turn_away(connection, -EAGAIN, full, true);
	}
	if (connection->right == HK_RIGHT_NONE ||
	    (connection->right < HK_RIGHT_CONTROL && connection->size > connection->got)) {
		const char *why = connection->right == HK_RIGHT_NONE ? why_token : why_right;
		return refuse(connection, why, true);
	}
	connection->phase = connection->got == connection->size ? HK_PHASE_WHOLE : HK_PHASE_BODY;
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
		connection->phase = HK_PHASE_WHOLE;
		return NULL;
	}
}

/* ---- receiving ---- */

static void post_receive(struct hk_connection *connection)
{
	uint8_t *into = connection->phase <= HK_PHASE_HEAD ? connection->head : connection->body;
	size_t end = connection->phase <= HK_PHASE_HEAD ? connection->until : connection->room;
	nng_iov part = {into + connection->got, end - connection->got};
	uint64_t deadline = connection->deadline_ns;
	pthread_mutex_lock(&connection->hub->lock);
	bool known = connection->known;
	pthread_mutex_unlock(&connection->hub->lock);
	if (!known) {
		uint64_t first = connection->opened_ns + UNAUTHENTICATED_NS;
		deadline = deadline == 0 || first < deadline ? first : deadline;
	}
	nng_aio_set_iov(connection->receiving, 1, &part);
	hk_connection_deadline(connection->receiving, deadline);
	nng_stream_recv(connection->stream, connection->receiving);
}

/* Returns the bytes of memory that the connection needs to continue, beyond those it holds. A body
 * takes twice its received bytes: announced bytes take no memory. */
static size_t wants(const struct hk_connection *connection)
{
	if (connection->phase <= HK_PHASE_HEAD) {
		return 0;
	}
	if (connection->phase == HK_PHASE_WHOLE) {
		bool small = connection->kind == HK_HELD_SHORT;
		return small ? 0
			     : connection->room + unpacked_most(connection) - connection->holding;
	}
	if (connection->got < connection->room) {
		return 0;
	}
	size_t room = connection->got < STEP_BYTES / 2 ? STEP_BYTES : 2 * connection->got;
	return (room < connection->until ? room : connection->until) - connection->room;
}

/* Returns whether the connection may receive more. The caller holds the hub's lock. */
static bool has_room(const struct hk_connection *connection)
{
	return connection->inflight < INFLIGHT_MAX &&
	       hk_quota_fits(connection->hub->quota, connection->account, connection,
			     connection->kind, wants(connection));
}

/* Reserves the memory that the connection needs to continue. Returns false if the connection is
 * parked until memory is free, or ends. */
static bool reserve(struct hk_connection *connection)
{
	struct hk_hub *hub = connection->hub;
	size_t more = wants(connection);
	pthread_mutex_lock(&hub->lock);
	/* An ended connection may already be in the list of connections to free. */
	connection->parked = !connection->ended && !has_room(connection);
	bool stop = connection->parked || connection->ended || connection->last_answer;
	if (connection->parked) {
		/* Connections that wait already come first. */
		DL_DELETE(hub->connections, connection);
		DL_APPEND(hub->connections, connection);
	}
	if (!stop) {
		hk_quota_hold(hub->quota, connection->account, connection->kind, more);
		connection->holding += more;
	}
	pthread_mutex_unlock(&hub->lock);
	if (stop || more == 0 || connection->phase == HK_PHASE_WHOLE) {
		return !stop;
	}
	uint8_t *body = realloc(connection->body, connection->room + more);
	if (!body) {
		end(connection, why_memory);
		return false;
	}
	connection->body = body;
	connection->room += more;
	return true;
}

/* Continues to receive, or parks the connection until memory is free. */
static void receive_on(struct hk_connection *connection)
{
	while (reserve(connection)) {
		if (connection->phase != HK_PHASE_WHOLE) {
			post_receive(connection);
			return;
		}
		const char *why = take_message(connection);
		if (why) {
			end(connection, why);
			return;
		}
	}
}

/* Runs on a thread of NNG. */
static void receive_done(void *data)
{
	struct hk_connection *connection = data;
	int r = nng_aio_result(connection->receiving);
	if (r != 0) {
		bool amid = connection->got > 0 || connection->phase != HK_PHASE_HEAD;
		pthread_mutex_lock(&connection->hub->lock);
		const char *late = !connection->known || amid ? "says nothing" : NULL;
		hk_connection_end(connection, hk_connection_failure(connection, r, late));
		pthread_mutex_unlock(&connection->hub->lock);
		return;
	}
	if (connection->got == 0 && connection->phase == HK_PHASE_HEAD) {
		connection->deadline_ns = hk_clock_monotonic_ns() + MESSAGE_NS;
	}
	connection->got += nng_aio_count(connection->receiving);
	const char *why = connection->got < connection->until ? NULL : take(connection);
	if (why) {
		end(connection, why);
	} else {
		receive_on(connection);
	}
}

/* Returns a parked connection that may continue, no longer marked as parked, or NULL. */
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
		if (connection->phase > HK_PHASE_HEAD) {
			/* The time in the parked state does not count against the client. */
			connection->deadline_ns = hk_clock_monotonic_ns() + MESSAGE_NS;
		}
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
	connection->opened_ns = connection->asked_ns = hk_clock_monotonic_ns();
	enum hk_account_kind account = local			? HK_ACCOUNT_LOCAL
				       : given == HK_RIGHT_NONE ? HK_ACCOUNT_UNAUTHENTICATED
								: HK_ACCOUNT_OPEN;
	connection->account = &hub->quota->accounts[account];
	connection->phase = HK_PHASE_GREETING;
	connection->until = HK_FRAMING_GREETING_BYTES;
	snprintf(connection->peer, sizeof(connection->peer), "%s", peer);
	if (nng_aio_alloc(&connection->receiving, receive_done, connection) != 0 ||
	    nng_aio_alloc(&connection->sending, hk_connection_sent, connection) != 0) {
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
	hk_hub_enter(hub, connection->account);
	hub->count++;
	pthread_mutex_unlock(&hub->lock);
	if (hk_connection_greet(connection) < 0) {
		end(connection, why_memory);
	} else {
		post_receive(connection);
	}
	pthread_mutex_lock(&hub->lock);
	connection->opening = false;
	pthread_mutex_unlock(&hub->lock);
	return 0;
}

/* The callbacks are stopped first, because they take the hub's lock. */
void hk_connection_free(struct hk_connection *connection)
{
	struct hk_hub *hub = connection->hub;
	nng_stream_close(connection->stream);
	nng_aio_stop(connection->receiving);
	nng_aio_stop(connection->sending);
	pthread_mutex_lock(&hub->lock);
	let_go(connection);
	while (connection->outgoing) {
		hk_connection_drop(connection);
	}
	pthread_mutex_unlock(&hub->lock);
	nng_aio_free(connection->receiving);
	nng_aio_free(connection->sending);
	nng_stream_free(connection->stream);
	free(connection->body);
	free(connection);
}
