/* uplink_nng.h: a link to a root over NNG. NNG's threads send and receive, and only mark an
 * exchange as done. */
#ifndef HK_COLLECTOR_UPLINK_UPLINK_NNG_H
#define HK_COLLECTOR_UPLINK_UPLINK_NNG_H

#include "collector/uplink/uplink.h"
#include "wire/access.h"

/* As hk_uplink_open. */
int hk_uplink_nng_open(const char *url, const struct hk_access *access,
		       struct hk_uplink **ret_uplink, char problem[HK_ACCESS_PROBLEM_BYTES]);

#endif
