#include "collector/server/request_queue.h"

#include <stdlib.h>
#include <utlist.h>

#include "collector/server/connection.h"
#include "collector/server/connection_receive.h"
#include "collector/server/connection_send.h"
#include "collector/server/hub.h"
#include "collector/server/quota.h"

#define UNSENT_MAX (1u << 20) /* bytes of a connection: no request is answered while more waits */

/* ---- ends ---- */

static void forget_asker(struct hk_hub *hub, const struct hk_connection *connection)
{
	struct hk_incoming *incoming;
	for (size_t i = 0; i < hub->quota->count && connection->inflight > 0; i++) {
		DL_FOREACH (hub->quota->accounts[i].incoming, incoming) {
			if (incoming->connection == connection) {
				incoming->connection = NULL;
			}
		}
	}
}

/* Takes the ended connections, or ALL, out of the hub. Returns them as a list. */
static struct hk_connection *take_ended(struct hk_hub *hub, bool all)
{
	struct hk_connection *connection, *next, *taken = NULL;
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
		forget_asker(hub, connection);
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

/* ---- answers ---- */

static bool is_large(const Hk__Request *request)
{
	return request && (request->what_case == HK__REQUEST__WHAT_STATUS ||
			   request->what_case == HK__REQUEST__WHAT_LIST ||
			   request->what_case == HK__REQUEST__WHAT_SNAPSHOT);
}

/* Returns whether there is room for an answer: the client reads its answers, or has closed. */
static bool reads(const struct hk_incoming *incoming)
{
	size_t most = is_large(incoming->request) ? HK_QUOTA_UNSENT_LARGE : HK_QUOTA_UNSENT;
	return !incoming->connection ||
	       (incoming->connection->unsent <= UNSENT_MAX && incoming->account->unsent <= most);
}

/* Returns the next request of ACCOUNT that was not looked at in TURN and whose client reads, or
 * NULL. Requests that were looked at move to the end. */
static struct hk_incoming *next_of(struct hk_account *account, uint64_t turn)
{
	struct hk_incoming *incoming;
	while ((incoming = account->incoming) != NULL && incoming->turn != turn) {
		incoming->turn = turn;
		DL_DELETE(account->incoming, incoming);
		DL_APPEND(account->incoming, incoming);
		if (reads(incoming)) {
			return incoming;
		}
	}
	return NULL;
}

struct hk_incoming *hk_hub_next(struct hk_hub *hub, uint64_t turn)
{
	struct hk_incoming *found = NULL;
	struct hk_account *least;
	pthread_mutex_lock(&hub->lock);
	do {
		least = NULL;
		for (size_t i = 0; i < hub->quota->count; i++) {
			struct hk_account *account = &hub->quota->accounts[i];
			bool waits = account->incoming && account->incoming->turn != turn;
			if (waits && (!least || account->served_ns < least->served_ns)) {
				least = account;
			}
		}
		found = least ? next_of(least, turn) : NULL;
	} while (least && !found);
	hub->virtual_ns = found ? least->served_ns : hub->virtual_ns;
	pthread_mutex_unlock(&hub->lock);
	return found;
}

void hk_hub_spent(struct hk_hub *hub, struct hk_account *account, uint64_t ns)
{
	pthread_mutex_lock(&hub->lock);
	account->served_ns += ns;
	account->loop_ns += ns;
	pthread_mutex_unlock(&hub->lock);
}

void hk_hub_reply(struct hk_hub *hub, struct hk_incoming *incoming, uint8_t *bytes, size_t size)
{
	struct hk_connection *connection;
	pthread_mutex_lock(&hub->lock);
	DL_DELETE(incoming->account->incoming, incoming);
	hub->queued--;
	hk_quota_release(hub->quota, incoming->account, incoming, incoming->kind, incoming->held);
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
