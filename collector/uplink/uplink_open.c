#include "collector/uplink/uplink_open.h"

#include <string.h>

#include "collector/uplink/uplink_engine.h"
#include "collector/uplink/uplink_nng.h"

bool hk_uplink_is_engine(const char *url)
{
	return strncmp(url, "nats://", 7) == 0 || strncmp(url, "tls+nats://", 11) == 0;
}

int hk_uplink_open(const char *url, const struct hk_access *access, struct hk_uplink **ret_uplink,
		   char problem[HK_ACCESS_PROBLEM_BYTES])
{
	return hk_uplink_is_engine(url) ? hk_uplink_engine_open(url, access, ret_uplink, problem)
					: hk_uplink_nng_open(url, access, ret_uplink, problem);
}
