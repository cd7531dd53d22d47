/* prober.h: measures a root's clock continuously, on a connection of its own.
 *
 * A thread of its own sends the probes, and NNG's threads take the answers. So neither a long pass
 * of the collector's loop nor chunks on the way to the root lengthen a round trip. A probe without
 * an answer is dropped. Signals must be blocked when it is opened. Any thread may read the map.
 */
#ifndef HK_COLLECTOR_CLOCK_PROBER_H
#define HK_COLLECTOR_CLOCK_PROBER_H

#include <stdbool.h>

#include "collector/clock/map.h"
#include "wire/access.h"

struct hk_prober;

/* Begins to probe the collector at URL, which may start later. ACCESS has the token and the trusted
 * certificates, and may be NULL. Returns 0, or -errno with the reason in PROBLEM, or "". */
int hk_prober_open(const char *url, const struct hk_access *access, struct hk_prober **ret_prober,
		   char problem[HK_ACCESS_PROBLEM_BYTES]);
/* Ends it; accepts NULL, returns NULL. */
struct hk_prober *hk_prober_free(struct hk_prober *prober);

/* Sets the map to the node's present clock map. Returns false if there is none, or if it has not
 * changed since the last call. It changes twice a second in the first ten seconds, then every five
 * seconds. */
bool hk_prober_map(struct hk_prober *prober, struct hk_clock_map *ret_map);

#endif
