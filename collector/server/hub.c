#include "collector/server/hub.h"

#include <unistd.h>
#include <utlist.h>

#include "collector/server/quota.h"

void hk_hub_wake(const struct hk_hub *hub)
{
	uint64_t one = 1;
	(void)!write(hub->event_fd, &one, sizeof(one));
}

bool hk_hub_is_known(const struct hk_hub *hub, const struct hk_account *account)
{
	return account >= &hub->quota->accounts[HK_ACCOUNT_OPEN];
}

void hk_hub_enter(struct hk_hub *hub, struct hk_account *account)
{
	account->connections++;
	hub->known += hk_hub_is_known(hub, account);
}

void hk_hub_leave(struct hk_hub *hub, struct hk_account *account)
{
	account->connections--;
	hub->known -= hk_hub_is_known(hub, account);
}

void hk_hub_queue(struct hk_hub *hub, struct hk_incoming *incoming)
{
	struct hk_account *account = incoming->account;
	if (!account->incoming && account->served_ns < hub->virtual_ns) {
		account->served_ns = hub->virtual_ns; /* idle time gives no credit */
	}
	DL_APPEND(account->incoming, incoming);
	hub->queued++;
}
