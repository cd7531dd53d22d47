/* estimator.h: makes a node's clock map from round trips, for the life of a leaf.
 *
 * A line is fitted through the round trips of the last minute, the window. Every 15 s the map gets
 * a corner that stays, half a minute behind the newest round trip: the line is most certain in the
 * middle of the window. A straight stretch leads from the last corner to the line's present value.
 * So new round trips change at most the last half minute of the map, and the map has no jumps. A
 * new window begins if three round trips in a row contradict the line by more than the errors of
 * both (the machine was suspended, or its clock was set to another rate), or if no round trip came
 * for long. Another boot of the root begins a new map. Pure computation, no clock is read. Locked
 * by the caller.
 */
#ifndef HK_COLLECTOR_CLOCK_ESTIMATOR_H
#define HK_COLLECTOR_CLOCK_ESTIMATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "collector/clock/map.h"
#include "collector/clock/sample.h"

struct hk_estimator;

/* -ENOMEM. */
int hk_estimator_new(struct hk_estimator **ret_estimator);
/* Frees; accepts NULL, returns NULL. */
struct hk_estimator *hk_estimator_free(struct hk_estimator *estimator);

/* Adds a round trip of the root's boot BOOT. Impossible times, and times out of order, are left
 * out. */
void hk_estimator_add(struct hk_estimator *estimator, const struct hk_clock_trip *trip,
		      const uint8_t boot[HK_CLOCK_BOOT_BYTES]);

/* The map as it is now; false: nothing is known yet. */
bool hk_estimator_map(struct hk_estimator *estimator, struct hk_clock_map *ret_map);

/* Returns the time between two probes in ns: 10 ms in the first ten seconds of a window, then 50 ms
 * to 1 s, as long as the error allows. */
uint64_t hk_estimator_period_ns(const struct hk_estimator *estimator);

#endif
