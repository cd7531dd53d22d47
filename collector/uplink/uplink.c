#include "collector/uplink/uplink.h"

#include <stddef.h>

#include "collector/uplink/uplink_kind.h"

struct hk_uplink *hk_uplink_free(struct hk_uplink *uplink)
{
	if (uplink) {
		uplink->kind->free(uplink);
	}
	return NULL;
}

int hk_uplink_fd(const struct hk_uplink *uplink)
{
	return uplink->kind->fd(uplink);
}

void hk_uplink_tend(struct hk_uplink *uplink, uint64_t now_ns)
{
	uplink->kind->tend(uplink, now_ns);
}

uint64_t hk_uplink_due(const struct hk_uplink *uplink)
{
	return uplink->kind->due(uplink);
}

bool hk_uplink_connected(const struct hk_uplink *uplink)
{
	return uplink->kind->connected(uplink);
}

bool hk_uplink_replied(const struct hk_uplink *uplink)
{
	return uplink->kind->replied(uplink);
}

const char *hk_uplink_problem(const struct hk_uplink *uplink)
{
	return uplink->kind->problem(uplink);
}

uint64_t hk_uplink_generation(const struct hk_uplink *uplink)
{
	return uplink->kind->generation(uplink);
}

int hk_uplink_send(struct hk_uplink *uplink, const Hk__Request *request)
{
	return uplink->kind->send(uplink, request);
}

int hk_uplink_next(struct hk_uplink *uplink, struct hk_uplink_reply *ret_reply)
{
	return uplink->kind->next(uplink, ret_reply);
}

void hk_uplink_refused(struct hk_uplink *uplink, uint64_t now_ns, const char *text)
{
	uplink->kind->refused(uplink, now_ns, text);
}

void hk_uplink_senseless(struct hk_uplink *uplink, uint64_t now_ns)
{
	uplink->kind->senseless(uplink, now_ns);
}
