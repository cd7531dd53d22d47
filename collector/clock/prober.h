/* prober.h: asks a root for the time, again and again, on a connection of its own.
 *
 * A thread sends the probes when it is time and NNG's take the answers, so that neither a long pass
 * of the collector's loop nor the chunks on the way to the root make a round trip longer than it
 * is. A probe that is not answered is forgotten. Signals must be blocked when it is opened. Any
 * thread may ask for the map.
 */
#ifndef HK_COLLECTOR_CLOCK_PROBER_H
#define HK_COLLECTOR_CLOCK_PROBER_H

#include <stdbool.h>

#include "collector/clock/map.h"
#include "wire/access.h"

struct hk_prober;

/* Begins to probe the collector at URL, whether or not it is there already; ACCESS, what is shown
 * to it and trusted, may be NULL. -errno, with PROBLEM in words or empty. */
int hk_prober_open(const char *url, const struct hk_access *access, struct hk_prober **ret_prober,
		   char problem[HK_ACCESS_PROBLEM_BYTES]);
/* Ends it; accepts NULL, returns NULL. */
struct hk_prober *hk_prober_free(struct hk_prober *prober);

/* The node's clock map as it is now. False: nothing is known, or nothing new since the last time.
 * In the first ten seconds there is something new twice a second, then every five. */
bool hk_prober_map(struct hk_prober *prober, struct hk_clock_map *ret_map);

#endif
