/* fit.h: fits the line of a clock's offset through the round trips with the least delay.
 *
 * A queue on the way makes a round trip longer, and its offset wrong by up to half of that. So only
 * the shortest sixth of the round trips counts, with weights that fall with the distance to the
 * shortest one. If their scatter shows that the line is then better, the shorter half or all count
 * alike. Pure functions of their arguments.
 */
#ifndef HK_COLLECTOR_CLOCK_FIT_H
#define HK_COLLECTOR_CLOCK_FIT_H

#include <stddef.h>
#include <stdint.h>

#include "collector/clock/sample.h"

/* The most by which a clock's rate changes between neighbouring stretches of a map. */
#define HK_CLOCK_WANDER 1e-6
/* The change of a crystal's rate as it warms up, 1 ppm a minute, per ns. */
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

/* Returns the part of the error that comes from the delays and not from the clock. More probes
 * reduce it. */
double hk_clock_line_chance(const struct hk_clock_line *line, uint64_t at_ns);

/* Returns a bound of 99 % of the errors of LINE at `at_ns`, if messages take equally long in both
 * directions on average. */
uint64_t hk_clock_line_error(const struct hk_clock_line *line, uint64_t at_ns);

/* Returns a bound of all errors of LINE at `at_ns`, whatever the delays in both directions are. For
 * each sample it is half of the round trip, plus the distance of its offset from the line, plus the
 * possible error of the line's rate up to `at_ns`. The least of all samples is the bound. */
uint64_t hk_clock_line_bound(const struct hk_clock_line *line,
			     const struct hk_clock_sample *samples, size_t count, uint64_t at_ns);

#endif
