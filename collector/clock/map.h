/* map.h: a node's clock map as it grows: corners in order of time, a bounded number.
 *
 * A corner that the line between its neighbours misses by little is left out; a full map gives up
 * the one that is missed by the least. What that costs is added to the errors of the stretch. Plain
 * values, locked by the caller. The map is what PROTOCOL.md, section 8, says of ClockMap.
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
	/* Errors: of the stretch up to the next corner; of the last one, at that moment. */
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

/* Adds a corner behind the last one; one that is not later is left out, an offset by which the
 * root's clock would stand still or run backwards is raised. */
void hk_clock_map_append(struct hk_clock_map *map, const struct hk_clock_corner *corner);

/* The same where nothing is known of the time between: the clock may have done anything there that
 * brings it from one corner to the other. */
void hk_clock_map_resume(struct hk_clock_map *map, const struct hk_clock_corner *corner);

/* Takes up what a later map says: its corners replace those that are not before its first one. One
 * of another root's boot replaces all. */
void hk_clock_map_join(struct hk_clock_map *map, const struct hk_clock_map *later);

/* Reads MESSAGE; false, and an empty map, if it is none: hk_report_map_valid. Of more corners than
 * there is room for, those missed least are left out. */
bool hk_clock_map_load(struct hk_clock_map *map, const Hk__ClockMap *message);

/* Makes MESSAGE show MAP: its lists are the map's own. */
void hk_clock_map_show(struct hk_clock_map *map, Hk__ClockMap *ret_message);

/* Adds TOLD, the clock map that a node sent, to *KEPT, which may be NULL. FRESH: the node started
 * again, so the old content of *KEPT is dropped. Invalid points are left out. Returns true if *KEPT
 * changed, and false if it did not or memory is short. */
bool hk_clock_map_merge(Hk__ClockMap **kept, const Hk__ClockMap *told, bool fresh);

#endif
