/* uplink_engine.h: a link to a stream engine. What the engine has stored counts as sent: a root may
 * read it later. Threads of this file wait for the engine, one for each exchange that is under way.
 */
#ifndef HK_COLLECTOR_UPLINK_UPLINK_ENGINE_H
#define HK_COLLECTOR_UPLINK_UPLINK_ENGINE_H

#include "collector/uplink/uplink.h"
#include "wire/access.h"

/* As hk_uplink_open. */
int hk_uplink_engine_open(const char *url, const struct hk_access *access,
			  struct hk_uplink **ret_uplink, char problem[HK_ACCESS_PROBLEM_BYTES]);

#endif
