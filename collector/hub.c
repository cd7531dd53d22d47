#include "collector/hub.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "collector/connection.h"

#define UNSENT_MAX (1u << 20) /* bytes: no request is answered while more waits to be read */

void hk_hub_wake(const struct hk_hub *hub)
{
	uint64_t one = 1;
	(void)!write(hub->event_fd, &one, sizeof(one));
}

struct hk_connection *hk_hub_stranger(const struct hk_hub *hub, const char *peer,
				      uint32_t *ret_count)
{
	struct hk_connection *connection, *oldest = NULL;
	*ret_count = 0;
	DL_FOREACH (hub->connections, connection) {
		if (!connection->known && !connection->ended && !connection->local &&
		    (!peer || strcmp(connection->peer, peer) == 0)) {
			oldest = oldest ? oldest : connection;
			(*ret_count)++;
		}
	}
	return oldest;
}

/* Those that have ended, or ALL, out of the hub: a list of their own. */
static struct hk_connection *take_ended(struct hk_hub *hub, bool all)
{
	struct hk_connection *connection, *next, *taken = NULL;
	struct hk_incoming *incoming;
	pthread_mutex_lock(&hub->lock);
	DL_FOREACH_SAFE(hub->connections, connection, next)
	{
		if (connection->opening || (!connection->ended && !all)) {
			continue;
		}
		hk_connection_end(connection, NULL);
		hub->ended--;
		hub->count--;
		DL_DELETE(hub->connections, connection);
		DL_APPEND(taken, connection);
		DL_FOREACH (hub->incoming, incoming) {
			if (incoming->connection == connection) {
				incoming->connection = NULL;
			}
		}
	}
	pthread_mutex_unlock(&hub->lock);
	return taken;
}

void hk_hub_reap(struct hk_hub *hub, bool all)
{
	struct hk_connection *connection, *next, *taken = take_ended(hub, all);
	DL_FOREACH_SAFE(taken, connection, next)
	{
		hk_connection_free(connection);
	}
}

bool hk_hub_reads(struct hk_hub *hub, const struct hk_incoming *incoming)
{
	pthread_mutex_lock(&hub->lock);
	bool reads = !incoming->connection || incoming->connection->unsent <= UNSENT_MAX;
	pthread_mutex_unlock(&hub->lock);
	return reads;
}

void hk_hub_answer(struct hk_hub *hub, struct hk_incoming *incoming, uint8_t *bytes, size_t size)
{
	struct hk_connection *connection;
	pthread_mutex_lock(&hub->lock);
	DL_DELETE(hub->incoming, incoming);
	hub->held -= incoming->held;
	connection = incoming->connection;
	if (connection) {
		connection->inflight--;
	}
	pthread_mutex_unlock(&hub->lock);
	if (!connection) {
		free(bytes);
	} else if (hk_connection_send(connection, incoming->trace, incoming->trace_size, bytes,
				      size) < 0) {
		pthread_mutex_lock(&hub->lock);
		hk_connection_end(connection, "out of memory");
		pthread_mutex_unlock(&hub->lock);
	}
	if (incoming->request) {
		hk__request__free_unpacked(incoming->request, NULL);
	}
	free(incoming);
}
