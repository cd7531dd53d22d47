/* uplink_open.h: opens the kind of link that a URL names. No state. */
#ifndef HK_COLLECTOR_UPLINK_UPLINK_OPEN_H
#define HK_COLLECTOR_UPLINK_UPLINK_OPEN_H

#include "collector/uplink/uplink.h"
#include "wire/access.h"

/* Whether URL is of a stream engine: what is stored there counts as sent. */
bool hk_uplink_is_engine(const char *url);

/* Keeps references to URL and the texts of ACCESS. hk_uplink_tend connects later. Returns 0, or
 * -errno, with the reason in PROBLEM if ACCESS is unusable. */
int hk_uplink_open(const char *url, const struct hk_access *access, struct hk_uplink **ret_uplink,
		   char problem[HK_ACCESS_PROBLEM_BYTES]);

#endif
