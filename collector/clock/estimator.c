#include "collector/clock/estimator.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collector/clock/fit.h"

#define MS_NS 1000000u
#define SECOND_NS (1000u * MS_NS)
#define WINDOW_NS (60u * (uint64_t)SECOND_NS)
#define STRETCH_NS (WINDOW_NS / 4)
#define GAP_NS (WINDOW_NS / 2)

#define SAMPLES_MAX 4096u
#define SAMPLES_ROOM (2 * SAMPLES_MAX)

/* Round trips in a row that must contradict the line, and the samples from which a line can be
 * contradicted. */
#define AGAINST 3u
#define SAMPLES_TRUSTED 16u
#define CONTRADICTION_FLOOR_NS 1000

#define FIRST_NS (10u * (uint64_t)SECOND_NS)
#define PERIOD_FIRST_NS (5u * MS_NS)
#define PERIOD_LEAST_NS (50u * MS_NS)
#define PERIOD_MOST_NS SECOND_NS
#define CHANCE_WANTED_NS 5000.0

/* Time to the first fit if no one asks for the line. */
#define FIT_FIRST_NS (100u * MS_NS)

struct hk_estimator {
	struct hk_clock_sample *samples; /* SAMPLES_ROOM; the window is [first, end) */
	uint64_t *scratch;
	size_t first, end;
	uint32_t against;   /* newest samples that contradict the line */
	bool open;	    /* the map does not reach the window */
	uint64_t fitted_ns; /* time of the fit; 0: there is no line */
	struct hk_clock_line line;
	struct hk_clock_map map; /* corners that are final */
};

int hk_estimator_new(struct hk_estimator **ret_estimator)
{
	struct hk_estimator *estimator = calloc(1, sizeof(*estimator));
	if (!estimator) {
		return -ENOMEM;
	}
	estimator->samples = calloc(SAMPLES_ROOM, sizeof(*estimator->samples));
	estimator->scratch = calloc(SAMPLES_MAX, sizeof(*estimator->scratch));
	estimator->open = true;
	if (!estimator->samples || !estimator->scratch) {
		hk_estimator_free(estimator);
		return -ENOMEM;
	}
	*ret_estimator = estimator;
	return 0;
}

struct hk_estimator *hk_estimator_free(struct hk_estimator *estimator)
{
	if (estimator) {
		free(estimator->samples);
		free(estimator->scratch);
		free(estimator);
	}
	return NULL;
}

/* ---- the window ---- */

static size_t count_of(const struct hk_estimator *estimator)
{
	return estimator->end - estimator->first;
}

static const struct hk_clock_sample *window(const struct hk_estimator *estimator)
{
	return &estimator->samples[estimator->first];
}

static uint64_t oldest_ns(const struct hk_estimator *estimator)
{
	return estimator->samples[estimator->first].at_ns;
}

static uint64_t newest_ns(const struct hk_estimator *estimator)
{
	return estimator->samples[estimator->end - 1].at_ns;
}

static void push(struct hk_estimator *estimator, const struct hk_clock_sample *sample)
{
	if (count_of(estimator) == SAMPLES_MAX) {
		estimator->first++;
	}
	if (estimator->end == SAMPLES_ROOM) {
		memmove(estimator->samples, window(estimator),
			count_of(estimator) * sizeof(*estimator->samples));
		estimator->end -= estimator->first;
		estimator->first = 0;
	}
	estimator->samples[estimator->end++] = *sample;
}

static void expire(struct hk_estimator *estimator)
{
	while (newest_ns(estimator) - oldest_ns(estimator) > WINDOW_NS) {
		estimator->first++;
	}
}

/* ---- the line and its corners ---- */

static void fit(struct hk_estimator *estimator)
{
	hk_clock_line_fit(window(estimator), count_of(estimator), estimator->scratch,
			  &estimator->line);
	estimator->fitted_ns = newest_ns(estimator);
}

static struct hk_clock_corner corner_at(const struct hk_estimator *estimator, uint64_t at_ns)
{
	const struct hk_clock_line *line = &estimator->line;
	uint64_t fit_error_ns = hk_clock_line_error(line, at_ns);
	uint64_t bound_ns =
	    hk_clock_line_bound(line, window(estimator), count_of(estimator), at_ns);
	return (struct hk_clock_corner){
	    .at_ns = at_ns,
	    .offset_ns = hk_clock_line_offset(line, at_ns),
	    .fit_error_ns = fit_error_ns,
	    .bound_ns = bound_ns,
	};
}

/* Adds the corner of the line at `at_ns`. */
static void append(const struct hk_estimator *estimator, struct hk_clock_map *map, uint64_t at_ns)
{
	struct hk_clock_corner corner = corner_at(estimator, at_ns);
	hk_clock_map_append(map, &corner);
}

/* Adds the corner at the start of the window, if the map does not reach it. */
static void begin(const struct hk_estimator *estimator, struct hk_clock_map *map)
{
	if (estimator->open) {
		struct hk_clock_corner corner = corner_at(estimator, oldest_ns(estimator));
		hk_clock_map_resume(map, &corner);
	}
}

/* Makes the corners final that the window is about to leave. */
static void settle(struct hk_estimator *estimator)
{
	struct hk_clock_map *map = &estimator->map;
	uint64_t middle = newest_ns(estimator) - WINDOW_NS / 2;
	if (estimator->open) {
		if (newest_ns(estimator) - oldest_ns(estimator) < WINDOW_NS - STRETCH_NS) {
			return;
		}
		begin(estimator, map);
		estimator->open = false;
		append(estimator, map, middle);
	} else if (middle >= map->at_ns[map->count - 1] + STRETCH_NS) {
		append(estimator, map, middle);
	}
}

static void refit(struct hk_estimator *estimator)
{
	fit(estimator);
	settle(estimator);
}

/* Makes the corners of the samples before `end` final, and begins a new window at sample `end`. */
static void renew(struct hk_estimator *estimator, size_t end)
{
	size_t newest = estimator->end;
	if (end > estimator->first) {
		estimator->end = end;
		refit(estimator);
		begin(estimator, &estimator->map);
		append(estimator, &estimator->map, newest_ns(estimator));
		estimator->map.drift_ppb = llround(estimator->line.drift * 1e9);
	}
	estimator->first = end;
	estimator->end = newest;
	estimator->open = true;
	estimator->against = 0;
	estimator->fitted_ns = 0;
}

/* ---- what comes in ---- */

static bool contradicts(const struct hk_estimator *estimator, const struct hk_clock_sample *sample)
{
	const struct hk_clock_line *line = &estimator->line;
	double off = fabs((double)(sample->offset_ns - hk_clock_line_offset(line, sample->at_ns)));
	double ahead = (double)(sample->at_ns - estimator->fitted_ns);
	return off > (double)sample->travel_ns / 2 + CONTRADICTION_FLOOR_NS +
			 (double)hk_clock_line_error(line, sample->at_ns) + HK_CLOCK_WANDER * ahead;
}

static void take(struct hk_estimator *estimator, const struct hk_clock_sample *sample)
{
	uint64_t every =
	    hk_estimator_period_ns(estimator) == PERIOD_FIRST_NS ? FIT_FIRST_NS : SECOND_NS;
	if (count_of(estimator) > 0 && sample->at_ns - newest_ns(estimator) > GAP_NS) {
		renew(estimator, estimator->end);
	}
	push(estimator, sample);
	if (estimator->fitted_ns != 0 && count_of(estimator) > SAMPLES_TRUSTED &&
	    contradicts(estimator, sample)) {
		if (++estimator->against == AGAINST) {
			renew(estimator, estimator->end - AGAINST);
		}
		return;
	}
	estimator->against = 0;
	expire(estimator);
	if (estimator->fitted_ns == 0 || sample->at_ns - estimator->fitted_ns >= every) {
		refit(estimator);
	}
}

void hk_estimator_add(struct hk_estimator *estimator, const struct hk_clock_trip *trip,
		      const uint8_t boot[HK_CLOCK_BOOT_BYTES])
{
	struct hk_clock_sample sample;
	if (!hk_clock_sample_make(trip, &sample) ||
	    (count_of(estimator) > 0 && sample.at_ns <= newest_ns(estimator))) {
		return;
	}
	if (memcmp(estimator->map.root_boot, boot, HK_CLOCK_BOOT_BYTES) != 0) {
		memset(&estimator->map, 0, sizeof(estimator->map));
		memcpy(estimator->map.root_boot, boot, HK_CLOCK_BOOT_BYTES);
		renew(estimator, estimator->first);
		estimator->first = estimator->end = 0;
	}
	estimator->map.probes++;
	take(estimator, &sample);
}

bool hk_estimator_map(struct hk_estimator *estimator, struct hk_clock_map *ret_map)
{
	if (count_of(estimator) == 0) {
		return false;
	}
	if (estimator->against == 0 && estimator->fitted_ns != newest_ns(estimator)) {
		refit(estimator);
	}
	*ret_map = estimator->map;
	begin(estimator, ret_map);
	append(estimator, ret_map, newest_ns(estimator));
	const struct hk_clock_line *line = &estimator->line;
	ret_map->drift_ppb = llround(line->drift * 1e9);
	ret_map->drift_error_ppb =
	    (uint64_t)ceil((2 * HK_CLOCK_WANDER + 3 * line->drift_deviation) * 1e9);
	return true;
}

uint64_t hk_estimator_period_ns(const struct hk_estimator *estimator)
{
	if (count_of(estimator) == 0 || estimator->fitted_ns == 0 ||
	    (estimator->open && newest_ns(estimator) - oldest_ns(estimator) < FIRST_NS)) {
		return PERIOD_FIRST_NS;
	}
	double chance = hk_clock_line_chance(&estimator->line, estimator->fitted_ns);
	double relative = CHANCE_WANTED_NS / fmax(chance, 1);
	double period = fmin(PERIOD_LEAST_NS * fmax(relative * relative, 1), PERIOD_MOST_NS);
	return (uint64_t)period;
}
