#include "collector/server/connection.h"

#include <nng/nng.h>

#include "base/clock.h"
#include "collector/server/rejections.h"

void hk_connection_end(struct hk_connection *connection, const char *why)
{
	if (connection->ended) {
		return;
	}
	if (why) {
		hk_rejections_add(connection->hub->refusals, connection->peer, why);
	}
	connection->ended = true;
	hk_hub_leave(connection->hub, connection->account);
	connection->hub->ended++;
	hk_hub_wake(connection->hub);
}

void hk_connection_deadline(nng_aio *aio, uint64_t deadline_ns)
{
	uint64_t now = hk_clock_monotonic_ns();
	uint64_t left = deadline_ns > now ? (deadline_ns - now) / 1000000u : 0;
	nng_aio_set_timeout(aio, deadline_ns == 0 ? NNG_DURATION_INFINITE : (nng_duration)left + 1);
}

const char *hk_connection_failure(const struct hk_connection *connection, int result,
				  const char *late)
{
	switch (result) {
	case NNG_ETIMEDOUT:
		return late;
	case NNG_ECRYPTO:
	case NNG_EPEERAUTH:
		return "no TLS, or a certificate that is not trusted";
	default:
		/* A connection with a right has made a request. A refused request is counted
		 * already. */
		return connection->known || connection->local || connection->right != HK_RIGHT_NONE
			   ? NULL
			   : "left without a request";
	}
}
