#include "collector/clock/fit.h"

#include <math.h>
#include <stdlib.h>

/* A way to choose and weigh samples: the 1 / PART with the shortest travel. The error of a sample
 * is OF_EXCESS of its excess over the shortest one, plus OF_RANGE of the largest excess. */
struct way {
	unsigned part;
	double of_excess, of_range;
};

/* If some samples travel without delay, these are the best: their error is even between plus and
 * minus half their excess. If hardly any does (many small delays, which make a bell), a short
 * travel says little, and the mean of all is better. A later way is used only if its error proves
 * smaller. */
static const struct way ways[] = {{6, 0.29, 0.06}, {2, 0.15, 0.1}, {1, 0, 0.15}};
#define WAYS (sizeof(ways) / sizeof(ways[0]))
#define USED_MIN 4u
#define BETTER_PART 0.75 /* the error of a later way must be below this part */
#define PROVING_MIN 64u	 /* samples from which a later way is used */
#define EXCESS_FLOOR_NS 150.0

/* Drift before anything is measured: crystals agree within 100 ppm. */
#define DRIFT_DEVIATION 1e-4
/* A larger drift is a manipulation: no two clocks differ so much. */
#define DRIFT_MOST 0.5

/* Standard deviations that cover 99 % of errors, with room for other distributions than the normal
 * one. */
#define COVERAGE 3.0
/* The estimated error is at least this part of the error that length and scatter of the round trips
 * suggest. */
#define LEAST_PART 0.5

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

struct choice {
	const struct way *way;
	uint64_t least_ns, most_ns; /* travel of the samples used */
};

/* Chooses samples. TRAVELS holds the travel of all samples, the shortest first. */
static struct choice choose(const struct way *way, const uint64_t *travels, size_t count)
{
	size_t used = count / way->part;
	used = used < USED_MIN ? USED_MIN : used;
	used = used < count ? used : count;
	return (struct choice){.way = way, .least_ns = travels[0], .most_ns = travels[used - 1]};
}

/* Returns the weight of SAMPLE: 1 / variance. */
static double weight_of(const struct choice *choice, const struct hk_clock_sample *sample)
{
	double range = (double)(choice->most_ns - choice->least_ns);
	double excess = (double)(sample->travel_ns - choice->least_ns);
	double deviation =
	    choice->way->of_excess * excess + choice->way->of_range * range + EXCESS_FLOOR_NS;
	return 1 / (deviation * deviation);
}

struct sums {
	double weight, x, y; /* mean values */
	double xx, xxx, xy;  /* weighted sums of the distances from the means */
	double offset_squares,
	    drift_squares; /* squared effect of single samples on offset and drift */
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

/* Sums the squared distances of the samples from the line. They give its error for any
 * distribution. */
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

static struct hk_clock_line fit(const struct hk_clock_sample *samples, size_t count,
				const struct choice *choice)
{
	struct sums sums = {0};
	sum_means(samples, count, choice, &sums);
	double known = sums.xx + 1 / (DRIFT_DEVIATION * DRIFT_DEVIATION);
	double drift = fmin(fmax(sums.xy / known, -DRIFT_MOST), DRIFT_MOST);
	sum_squares(samples, count, choice, drift, &sums);
	/* Two samples always lie on their line. */
	double free = sums.used > 2 ? (double)sums.used / (double)(sums.used - 2) : 1;
	return (struct hk_clock_line){
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

void hk_clock_line_fit(const struct hk_clock_sample *samples, size_t count, uint64_t *scratch,
		       struct hk_clock_line *ret_line)
{
	uint64_t newest_ns = samples[count - 1].at_ns;
	for (size_t i = 0; i < count; i++) {
		scratch[i] = samples[i].travel_ns;
	}
	qsort(scratch, count, sizeof(*scratch), by_value);
	for (size_t i = 0; i < WAYS && (i == 0 || count >= PROVING_MIN); i++) {
		const struct choice choice = choose(&ways[i], scratch, count);
		const struct hk_clock_line line = fit(samples, count, &choice);
		if (i == 0 || hk_clock_line_chance(&line, newest_ns) <
				  BETTER_PART * hk_clock_line_chance(ret_line, newest_ns)) {
			*ret_line = line;
		}
	}
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
	/* A straight line misses a curved clock by this. */
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
