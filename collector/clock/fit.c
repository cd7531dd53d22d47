#include "collector/clock/fit.h"

#include <math.h>
#include <stdlib.h>

#define USED_PART 6u
#define USED_MIN 4u

/* The error of an offset is even between plus and minus half the excess of its round trip. */
#define EXCESS_DEVIATION 0.29
#define EXCESS_FLOOR_PART 0.2
#define EXCESS_FLOOR_NS 500.0

/* Before anything is measured: crystals agree within 100 ppm. */
#define DRIFT_DEVIATION 1e-4
/* No two clocks: somebody plays with us. */
#define DRIFT_MOST 0.5

/* Deviations that hold 99 % of errors, with room for their being no normal distribution. */
#define COVERAGE 3.0
/* Round trips are no better than their length and the way they scatter say; this part at least. */
#define LEAST_PART 0.5

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

struct choice {
	uint64_t least_ns, most_ns; /* travel of the samples used */
};

static struct choice choose(const struct hk_clock_sample *samples, size_t count, uint64_t *scratch)
{
	for (size_t i = 0; i < count; i++) {
		scratch[i] = samples[i].travel_ns;
	}
	qsort(scratch, count, sizeof(*scratch), by_value);
	size_t used = count / USED_PART;
	used = used < USED_MIN ? USED_MIN : used;
	used = used < count ? used : count;
	return (struct choice){.least_ns = scratch[0], .most_ns = scratch[used - 1]};
}

/* 1 / variance. */
static double weight_of(const struct choice *choice, const struct hk_clock_sample *sample)
{
	double range = (double)(choice->most_ns - choice->least_ns);
	double excess = (double)(sample->travel_ns - choice->least_ns);
	double deviation =
	    EXCESS_DEVIATION * (excess + EXCESS_FLOOR_PART * range + EXCESS_FLOOR_NS);
	return 1 / (deviation * deviation);
}

struct sums {
	double weight, x, y;		      /* mean values */
	double xx, xxx, xy;		      /* weighted, of the distances from these */
	double offset_squares, drift_squares; /* what single samples did to either, squared */
	size_t used;
};

/* Times and offsets count from those of the first sample, which keeps them exact in a double. */
static double x_of(const struct hk_clock_sample *samples, size_t i)
{
	return (double)(int64_t)(samples[i].at_ns - samples[0].at_ns);
}

static double y_of(const struct hk_clock_sample *samples, size_t i)
{
	return (double)(samples[i].offset_ns - samples[0].offset_ns);
}

static void sum_means(const struct hk_clock_sample *samples, size_t count,
		      const struct choice *choice, struct sums *sums)
{
	for (size_t i = 0; i < count; i++) {
		if (samples[i].travel_ns <= choice->most_ns) {
			double weight = weight_of(choice, &samples[i]);
			sums->weight += weight;
			sums->x += weight * x_of(samples, i);
			sums->y += weight * y_of(samples, i);
			sums->used++;
		}
	}
	sums->x /= sums->weight;
	sums->y /= sums->weight;
	for (size_t i = 0; i < count; i++) {
		if (samples[i].travel_ns <= choice->most_ns) {
			double weight = weight_of(choice, &samples[i]);
			double x = x_of(samples, i) - sums->x, y = y_of(samples, i) - sums->y;
			sums->xx += weight * x * x;
			sums->xxx += weight * x * x * x;
			sums->xy += weight * x * y;
		}
	}
}

/* The samples' own distances from the line tell how certain it is, whatever their distribution. */
static void sum_squares(const struct hk_clock_sample *samples, size_t count,
			const struct choice *choice, double drift, struct sums *sums)
{
	for (size_t i = 0; i < count; i++) {
		if (samples[i].travel_ns <= choice->most_ns) {
			double weight = weight_of(choice, &samples[i]);
			double x = x_of(samples, i) - sums->x;
			double left = weight * (y_of(samples, i) - sums->y - drift * x);
			sums->offset_squares += left * left;
			sums->drift_squares += left * left * x * x;
		}
	}
}

void hk_clock_line_fit(const struct hk_clock_sample *samples, size_t count, uint64_t *scratch,
		       struct hk_clock_line *ret_line)
{
	const struct choice choice = choose(samples, count, scratch);
	struct sums sums = {0};
	sum_means(samples, count, &choice, &sums);
	double known = sums.xx + 1 / (DRIFT_DEVIATION * DRIFT_DEVIATION);
	double drift = fmin(fmax(sums.xy / known, -DRIFT_MOST), DRIFT_MOST);
	sum_squares(samples, count, &choice, drift, &sums);
	/* Two samples always lie on their line. */
	double free = sums.used > 2 ? (double)sums.used / (double)(sums.used - 2) : 1;
	*ret_line = (struct hk_clock_line){
	    .at_ns = samples[0].at_ns + (uint64_t)llround(sums.x),
	    .offset_ns = samples[0].offset_ns + llround(sums.y),
	    .drift = drift,
	    .offset_deviation = fmax(sqrt(free * sums.offset_squares) / sums.weight,
				     LEAST_PART / sqrt(sums.weight)),
	    .drift_deviation =
		fmin(fmax(sqrt(free * sums.drift_squares), LEAST_PART * sqrt(known)) / known,
		     DRIFT_DEVIATION),
	    .mean_square = sums.xx / sums.weight,
	    .skew = sums.xxx / known,
	};
}

static double distance(const struct hk_clock_line *line, uint64_t at_ns)
{
	return (double)(int64_t)(at_ns - line->at_ns);
}

int64_t hk_clock_line_offset(const struct hk_clock_line *line, uint64_t at_ns)
{
	return (int64_t)((uint64_t)line->offset_ns +
			 (uint64_t)llround(line->drift * distance(line, at_ns)));
}

double hk_clock_line_chance(const struct hk_clock_line *line, uint64_t at_ns)
{
	double away = distance(line, at_ns);
	return COVERAGE * hypot(line->offset_deviation, line->drift_deviation * away);
}

uint64_t hk_clock_line_error(const struct hk_clock_line *line, uint64_t at_ns)
{
	double away = distance(line, at_ns);
	/* What the line through a bow misses. */
	double missed = away * away - line->skew * away - line->mean_square;
	double bow = HK_CLOCK_BEND / 2 * fmax(fabs(missed), line->mean_square);
	return (uint64_t)ceil(hk_clock_line_chance(line, at_ns) + bow);
}

uint64_t hk_clock_line_bound(const struct hk_clock_line *line,
			     const struct hk_clock_sample *samples, size_t count, uint64_t at_ns)
{
	double astray = HK_CLOCK_WANDER + 3 * line->drift_deviation;
	double least = INFINITY;
	for (size_t i = 0; i < count; i++) {
		double off = fabs(
		    (double)(samples[i].offset_ns - hk_clock_line_offset(line, samples[i].at_ns)));
		double away = fabs((double)(int64_t)(at_ns - samples[i].at_ns));
		/* The offset moves during the trip as well. */
		double half = (double)samples[i].travel_ns / 2 * (1 + DRIFT_DEVIATION);
		least = fmin(least, half + off + astray * away);
	}
	return (uint64_t)ceil(least);
}
