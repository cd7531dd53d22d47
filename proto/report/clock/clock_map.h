/* clock_map.h: a node's monotonic clock on that of the root, by the node's clock map.
 *
 * A map is as PROTOCOL.md, section 8, says: corners with straight lines between, growing outside.
 * It comes from files and sockets: ask hk_report_map_valid once, the rest relies on it. Pure
 * functions.
 */
#ifndef HK_REPORT_CLOCK_CLOCK_MAP_H
#define HK_REPORT_CLOCK_CLOCK_MAP_H

#include <stdbool.h>

#include "schema/wire.pb-c.h"

/* What may be wrong with a time, in ns. */
struct hk_report_error {
	uint64_t fit_ns;   /* 99 % of errors are less, if both ways took as long */
	uint64_t bound_ns; /* upper limit of all errors */
};

/* Whether MAP, which may be NULL, has a corner and lists of equal lengths, and maps later times to
 * later times. */
bool hk_report_map_valid(const Hk__ClockMap *map);

/* The root's clock when the node's reads `node_ns`; never decreases as that grows. */
int64_t hk_report_map_root_ns(const Hk__ClockMap *map, int64_t node_ns);

/* The largest errors of the times from `from_ns` to `to_ns` of the node's clock. */
struct hk_report_error hk_report_map_error(const Hk__ClockMap *map, int64_t from_ns, int64_t to_ns);

#endif
