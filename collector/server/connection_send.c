#include "collector/server/connection_send.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/clock.h"
#include "collector/server/connection.h"
#include "collector/server/hub.h"

#define LINGER_NS UINT64_C(2000000000) /* longest wait for the client to close */
#define SEND_NS UINT64_C(30000000000)  /* limit for a client to read an answer, plus */
#define SEND_BYTES_PER_S (256u << 10)  /* time for a long answer at this rate */

/* Continues to send the first message of the queue. */
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
	hk_connection_deadline(connection->sending, connection->send_deadline_ns);
	nng_stream_send(connection->stream, connection->sending);
}

/* Returns the message to send now, or NULL if one is being sent. The caller holds the hub's lock.
 */
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

/* Returns the bytes of memory of OUTGOING. Short answers that wait for their reader count too. */
static size_t held_by(const struct hk_outgoing *outgoing)
{
	return sizeof(*outgoing) + outgoing->size;
}

void hk_connection_drop(struct hk_connection *connection)
{
	struct hk_outgoing *outgoing = connection->outgoing;
	DL_DELETE(connection->outgoing, outgoing);
	connection->unsent -= held_by(outgoing);
	outgoing->account->unsent -= held_by(outgoing);
	connection->hub->unsent -= held_by(outgoing);
	free(outgoing->bytes);
	free(outgoing);
}

/* Lets the client close first: an answer may never arrive if the collector closes while it is under
 * way, or with bytes unread. */
static void linger(struct hk_connection *connection)
{
	nng_iov part = {connection->rest, sizeof(connection->rest)};
	nng_aio_set_iov(connection->sending, 1, &part);
	hk_connection_deadline(connection->sending, connection->linger_ns);
	nng_stream_recv(connection->stream, connection->sending);
}

/* Runs on a thread of NNG. */
void hk_connection_sent(void *data)
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
		hk_connection_end(connection,
				  hk_connection_failure(connection, r, "does not read its answer"));
	} else if (!connection->ended && !lingers) {
		struct hk_outgoing *outgoing = connection->outgoing;
		outgoing->sent += nng_aio_count(connection->sending);
		next = outgoing;
		if (outgoing->sent == outgoing->head_size + outgoing->size) {
			hk_connection_drop(connection);
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

/* Queues OUTGOING and takes ownership of it. The caller does not hold the hub's lock. */
static void queue(struct hk_connection *connection, struct hk_outgoing *outgoing)
{
	struct hk_hub *hub = connection->hub;
	pthread_mutex_lock(&hub->lock);
	DL_APPEND(connection->outgoing, outgoing);
	outgoing->account = connection->account;
	outgoing->account->unsent += held_by(outgoing);
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
		/* Over TLS each part is a record of its own. A client that measures the clock would
		 * wait for the second one. */
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

int hk_connection_greet(struct hk_connection *connection)
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
