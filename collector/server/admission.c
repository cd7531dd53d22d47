#include "collector/server/admission.h"

#include <string.h>
#include <utlist.h>

#include "collector/server/connection.h"
#include "collector/server/hub.h"
#include "collector/server/quota.h"

struct hk_connection *hk_hub_oldest_unauthenticated(const struct hk_hub *hub, const char *peer,
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

/* Returns the connection of ACCOUNT whose last request is the oldest, or NULL if it has no
 * connection. */
static struct hk_connection *idlest(const struct hk_hub *hub, const struct hk_account *account)
{
	struct hk_connection *connection, *found = NULL;
	DL_FOREACH (hub->connections, connection) {
		bool idler = connection->account == account && !connection->ended &&
			     (!found || connection->asked_ns < found->asked_ns);
		found = idler ? connection : found;
	}
	return found;
}

static struct hk_account *greatest(const struct hk_hub *hub)
{
	struct hk_account *found = &hub->quota->accounts[HK_ACCOUNT_OPEN];
	for (size_t i = HK_ACCOUNT_OPEN; i < hub->quota->count; i++) {
		struct hk_account *account = &hub->quota->accounts[i];
		found = account->connections > found->connections ? account : found;
	}
	return found;
}

const char *hk_hub_join(struct hk_hub *hub, struct hk_connection *connection,
			struct hk_account *account)
{
	static const char why[] = "too many connections of one account";
	if (connection->account == account) {
		return NULL;
	}
	if (hk_hub_is_known(hub, account) && !hk_hub_is_known(hub, connection->account) &&
	    hub->known >= hub->known_max) {
		struct hk_account *most = greatest(hub);
		bool fair = most->connections > account->connections + 1;
		hk_quota_refuse(hub->quota, fair ? most : account, why);
		if (!fair) {
			return why;
		}
		hk_connection_end(idlest(hub, most), NULL);
	}
	hk_hub_leave(hub, connection->account);
	connection->account = account;
	hk_hub_enter(hub, connection->account);
	return NULL;
}
