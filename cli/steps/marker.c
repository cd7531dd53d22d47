#include "cli/steps/marker.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COVER_LEAST 0.5 /* of the time of a rank */
#define APART_MOST 0.1	/* part of the marked steps that a rank may have more than another one */

static void forget(struct hk_markers *markers, struct hk_candidate *candidate)
{
	for (size_t i = 0; candidate->lanes && i < markers->ranks; i++) {
		hk_step_series_fini(&candidate->lanes[i].series);
	}
	free(candidate->lanes);
	*candidate = (struct hk_candidate){0};
}

void hk_markers_fini(struct hk_markers *markers)
{
	for (size_t i = 0; i < HK_MARKERS; i++) {
		forget(markers, &markers->list[i]);
	}
}

static bool is_same(const struct hk_marker *x, const struct hk_marker *y)
{
	return x->kind == y->kind && x->name == y->name && x->comm == y->comm &&
	       x->any_bytes == y->any_bytes && x->bytes == y->bytes;
}

/* Returns how much CANDIDATE is worth keeping: steps that the program names, then collectives of
 * any bytes, then those of one size, of which there may be many in a step. */
static int worth_of(const struct hk_candidate *candidate)
{
	if (candidate->used == 0) {
		return 0;
	}
	if (candidate->marker.kind != HK_MARKER_COLLECTIVE) {
		return 3;
	}
	return candidate->marker.any_bytes ? 2 : 1;
}

static bool goes_before(const struct hk_candidate *x, const struct hk_candidate *y)
{
	int worth_x = worth_of(x), worth_y = worth_of(y);

	return worth_x < worth_y || (worth_x == worth_y && x->used < y->used);
}

/* Returns the candidate of MARKER. If all are in use it takes the place of one that is worth least,
 * the one used longest ago. NULL without memory. */
static struct hk_candidate *candidate_of(struct hk_markers *markers, const struct hk_marker *marker)
{
	struct hk_candidate *oldest = &markers->list[0];

	markers->uses++;
	for (size_t i = 0; i < HK_MARKERS; i++) {
		struct hk_candidate *candidate = &markers->list[i];
		if (candidate->used > 0 && is_same(&candidate->marker, marker)) {
			candidate->used = markers->uses;
			return candidate;
		}
		oldest = goes_before(candidate, oldest) ? candidate : oldest;
	}
	forget(markers, oldest);
	oldest->lanes = calloc(markers->ranks, sizeof(*oldest->lanes));
	if (!oldest->lanes) {
		return NULL;
	}
	oldest->marker = *marker;
	oldest->used = markers->uses;
	return oldest;
}

static int lane_end(struct hk_marker_lane *lane, const struct hk_marker_event *event)
{
	if (!lane->open || event->time_ns <= lane->begin_ns) {
		return 0;
	}
	double duration_ns = (double)(event->time_ns - lane->begin_ns);
	double own_ns = fmax(duration_ns - (event->waited_ns - lane->waited_ns), 0);
	if (lane->series.steps > 0) {
		lane->unevenness += fabs(duration_ns - lane->last_duration_ns) /
				    (duration_ns + lane->last_duration_ns);
	} else {
		lane->first_ns = lane->begin_ns;
	}
	lane->last_ns = event->time_ns;
	lane->last_duration_ns = duration_ns;
	lane->open = false;
	return hk_step_series_add(&lane->series, lane->begin_ns, duration_ns, own_ns);
}

int hk_markers_begin(struct hk_markers *markers, const struct hk_marker *marker,
		     const struct hk_marker_event *event)
{
	struct hk_candidate *candidate = candidate_of(markers, marker);
	struct hk_marker_lane *lane = candidate ? &candidate->lanes[event->rank] : NULL;

	if (!lane) {
		return -ENOMEM;
	}
	int rc = lane_end(lane, event);
	lane->open = true;
	lane->begin_ns = event->time_ns;
	lane->waited_ns = event->waited_ns;
	return rc;
}

int hk_markers_end(struct hk_markers *markers, const struct hk_marker *marker,
		   const struct hk_marker_event *event)
{
	struct hk_candidate *candidate = candidate_of(markers, marker);

	return candidate ? lane_end(&candidate->lanes[event->rank], event) : -ENOMEM;
}

/* The steps of a candidate in all ranks. */
struct sum {
	uint64_t least, most;
	double unevenness, cover_ns;
};

static struct sum sum_of(const struct hk_markers *markers, const struct hk_candidate *candidate)
{
	struct sum sum = {.least = UINT64_MAX};

	for (size_t i = 0; i < markers->ranks; i++) {
		const struct hk_marker_lane *lane = &candidate->lanes[i];
		uint64_t steps = lane->series.steps;
		sum.least = steps < sum.least ? steps : sum.least;
		sum.most = steps > sum.most ? steps : sum.most;
		sum.unevenness += steps > 0 ? lane->unevenness / (double)steps : 0;
		sum.cover_ns += steps > 0 ? (double)(lane->last_ns - lane->first_ns) : 0;
	}
	sum.unevenness /= (double)markers->ranks;
	return sum;
}

static bool is_fit(const struct hk_candidate *candidate, const struct sum *sum, double whole_ns)
{
	if (candidate->used == 0 || sum->least < HK_STEPS_LEAST) {
		return false;
	}
	uint64_t apart = sum->most - sum->least;
	return candidate->marker.kind == HK_MARKER_COLLECTIVE
		   ? apart <= 1 && sum->cover_ns >= COVER_LEAST * whole_ns
		   : (double)apart <= APART_MOST * (double)sum->most;
}

struct hk_candidate *hk_markers_choose(struct hk_markers *markers, const double *span_ns)
{
	struct hk_candidate *best = NULL;
	double whole_ns = 0, lowest = 0;
	bool best_many = false;

	for (size_t i = 0; i < markers->ranks; i++) {
		whole_ns += span_ns[i];
	}
	for (size_t i = 0; i < HK_MARKERS; i++) {
		struct hk_candidate *candidate = &markers->list[i];
		struct sum sum = {0};
		if (candidate->used > 0) {
			sum = sum_of(markers, candidate);
		}
		if (!is_fit(candidate, &sum, whole_ns)) {
			continue;
		}
		bool many = sum.least >= HK_STEPS_MANY;
		double score = sum.unevenness / sqrt((double)sum.least);
		int order = best ? (int)candidate->marker.kind - (int)best->marker.kind : -1;
		order = order == 0 ? (int)best_many - (int)many : order;
		if (order < 0 || (order == 0 && score < lowest)) {
			best = candidate;
			lowest = score;
			best_many = many;
		}
	}
	return best;
}
