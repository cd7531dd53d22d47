/* clock_map.h: converts a node's monotonic clock to that of the root, by the node's clock map.
 *
 * A map is a list of corners with straight lines between them; outside of them its errors grow
 * (PROTOCOL.md, section 8). Maps come from files and sockets: a caller checks them once with
 * hk_report_map_valid, all other functions rely on it. Pure functions, any thread.
 */
#ifndef HK_REPORT_CLOCK_CLOCK_MAP_H
#define HK_REPORT_CLOCK_CLOCK_MAP_H

#include <stdbool.h>

#include "schema/wire.pb-c.h"

/* How wrong a time may be, in ns. */
struct hk_report_error {
	uint64_t
	    fit_ns; /* 99 % of errors are less, if messages took equally long in both directions */
	uint64_t bound_ns; /* upper limit of all errors */
};

/* Whether MAP, which may be NULL, has a corner and lists of equal lengths, and maps later times to
 * later times. */
bool hk_report_map_valid(const Hk__ClockMap *map);

/* Returns the root's clock when the node's clock reads `node_ns`. The result never decreases as
 * `node_ns` grows. */
int64_t hk_report_map_root_ns(const Hk__ClockMap *map, int64_t node_ns);

/* Returns the largest errors of the times from `from_ns` to `to_ns` on the node's clock. */
struct hk_report_error hk_report_map_error(const Hk__ClockMap *map, int64_t from_ns, int64_t to_ns);

#endif
