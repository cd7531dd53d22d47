/* map.h: a node's clock map while it grows: a bounded number of corners in order of time.
 *
 * A corner close to the line between its neighbours is left out. A full map drops the corner with
 * the least distance to that line. The distance is added to the errors of the stretch. Plain
 * values, locked by the caller. PROTOCOL.md, section 8, describes ClockMap.
 */
#ifndef HK_COLLECTOR_CLOCK_MAP_H
#define HK_COLLECTOR_CLOCK_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

#define HK_CLOCK_CORNERS 128u
#define HK_CLOCK_BOOT_BYTES 16u

/* One moment of the map. */
struct hk_clock_corner {
	uint64_t at_ns;	   /* node's clock */
	int64_t offset_ns; /* root's clock less the node's */
	uint64_t fit_error_ns, bound_ns;
};

struct hk_clock_map {
	size_t count;
	/* The errors are those of the stretch up to the next corner. The last corner has the errors
	 * at its moment. */
	uint64_t at_ns[HK_CLOCK_CORNERS];
	int64_t offset_ns[HK_CLOCK_CORNERS];
	uint64_t fit_error_ns[HK_CLOCK_CORNERS];
	uint64_t bound_ns[HK_CLOCK_CORNERS];
	uint64_t given_up_ns[HK_CLOCK_CORNERS]; /* of the errors: by corners left out */
	int64_t drift_ppb;
	uint64_t drift_error_ppb;
	uint64_t probes;
	uint8_t root_boot[HK_CLOCK_BOOT_BYTES];
};

/* Adds a corner behind the last one. A corner that is not later is left out. An offset at which the
 * root's clock would stand still or run backwards is raised. */
void hk_clock_map_append(struct hk_clock_map *map, const struct hk_clock_corner *corner);

/* The same, but the time between both corners is unknown: the clock may have run in any way from
 * one corner to the other. */
void hk_clock_map_resume(struct hk_clock_map *map, const struct hk_clock_corner *corner);

/* Adds a later map: its corners replace the corners that are not before its first one. A map of
 * another boot of the root replaces all. */
void hk_clock_map_join(struct hk_clock_map *map, const struct hk_clock_map *later);

/* Makes MESSAGE show MAP: its lists are the map's own. */
void hk_clock_map_show(struct hk_clock_map *map, Hk__ClockMap *ret_message);

/* Adds TOLD, the clock map that a node sent, to *KEPT, which may be NULL. FRESH: the node started
 * again, so the old content of *KEPT is dropped. Invalid points are left out. Returns true if *KEPT
 * changed, and false if it did not or memory is short. */
bool hk_clock_map_merge(Hk__ClockMap **kept, const Hk__ClockMap *update, bool fresh);

#endif
