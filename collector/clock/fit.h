/* fit.h: the line of a clock's offset through the round trips that were least delayed.
 *
 * A queue on the way makes a round trip longer and its offset wrong by up to half of that. So only
 * the sixth with the shortest travel counts, and of it each the more the nearer it is to the
 * shortest; or the shorter half, or all alike, where their own scatter says that this is the better
 * line. Pure functions of their arguments.
 */
#ifndef HK_COLLECTOR_CLOCK_FIT_H
#define HK_COLLECTOR_CLOCK_FIT_H

#include <stddef.h>
#include <stdint.h>

#include "collector/clock/sample.h"

/* A clock's rate changes by no more than this between neighbouring stretches of a map. */
#define HK_CLOCK_WANDER 1e-6
/* Warming up changes the rate of a crystal by 1 ppm a minute; per ns. */
#define HK_CLOCK_BEND (1e-6 / 60e9)

struct hk_clock_line {
	uint64_t at_ns;				  /* where it is known best, on the node's clock */
	int64_t offset_ns;			  /* there */
	double drift;				  /* ns of offset per ns */
	double offset_deviation, drift_deviation; /* standard deviations */
	double mean_square, skew; /* of the samples' distances from at_ns, ns^2 and ns */
};

/* Fits `count` > 0 samples, in order of time; `scratch` has room for as many values. */
void hk_clock_line_fit(const struct hk_clock_sample *samples, size_t count, uint64_t *scratch,
		       struct hk_clock_line *ret_line);

/* Offset of LINE when the node's clock reads `at_ns`. */
int64_t hk_clock_line_offset(const struct hk_clock_line *line, uint64_t at_ns);

/* The part of the error that comes of the delays, not of the clock itself; more probes lessen it.
 */
double hk_clock_line_chance(const struct hk_clock_line *line, uint64_t at_ns);

/* 99 % of the errors of LINE at `at_ns` are less, if both ways take as long on average. */
uint64_t hk_clock_line_error(const struct hk_clock_line *line, uint64_t at_ns);

/* No error of LINE at `at_ns` is more, whatever the ways take: half of a round trip, how far its
 * offset is from the line, and what the line may go astray from there to `at_ns`; the least of all
 * samples. */
uint64_t hk_clock_line_bound(const struct hk_clock_line *line,
			     const struct hk_clock_sample *samples, size_t count, uint64_t at_ns);

#endif
