#include "cli/steps/shifts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/steps/certain.h"
#include "cli/steps/changes.h"

#define OF_STEP_LEAST 0.02 /* of a step's duration; less own time does not matter */
/* Changes at most so far apart are one: a part of the bins, or as many as may move one change. */
#define SAME_OF_ALL 32u
#define SAME_LEAST 8u

/* One series gets slower. */
struct rise {
	size_t rank; /* SIZE_MAX: the steps of all */
	struct hk_change change;
	bool taken;
};

struct finder {
	const struct hk_steps *steps;
	double *durations; /* median over the ranks, by bin */
	double *values;	   /* of one series, or of one bin's ranks */
	struct rise *rises;
	size_t rise_count;
};

/* Returns how long a rise lasts times how much it adds. */
static double cost_of(const struct rise *rise)
{
	return (rise->change.after - rise->change.before) *
	       (double)(rise->change.to - rise->change.at);
}

/* Returns the median of COUNT values from VALUES on, which stay as they are. */
static double median_of(struct finder *finder, const double *values, size_t count)
{
	memcpy(finder->values, values, count * sizeof(*values));
	return hk_changes_median(finder->values, count);
}

/* Moves the ends of changes to where the level is no longer the one that they made. */
static void extend(struct hk_changes *changes)
{
	for (size_t i = changes->count; i-- > 0;) {
		struct hk_change *change = &changes->list[i];
		double middle = (change->before + change->after) / 2;
		if (i + 1 < changes->count && changes->list[i + 1].after > middle) {
			change->to = changes->list[i + 1].to;
		}
	}
}

/* Adds what gets slower in the series of RANK, whose values are in SERIES. */
static int rises_add(struct finder *finder, size_t rank, const double *series)
{
	const struct hk_steps *steps = finder->steps;
	struct hk_changes changes;
	int rc = hk_changes_find(series, steps->count, steps->rank_count + 1, &changes);

	extend(&changes);
	for (size_t i = 0; rc == 0 && i < changes.count; i++) {
		const struct hk_change *change = &changes.list[i];
		double step_ns =
		    median_of(finder, finder->durations + change->from, change->at - change->from);
		if (change->after - change->before >= OF_STEP_LEAST * step_ns) {
			finder->rises[finder->rise_count++] =
			    (struct rise){.rank = rank, .change = *change};
		}
	}
	return rc;
}

static int rises_find(struct finder *finder)
{
	const struct hk_steps *steps = finder->steps;
	double *own = calloc(steps->count, sizeof(*own));
	int rc = own ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < steps->count; i++) {
		finder->durations[i] = hk_steps_median(steps, i, finder->values);
	}
	for (size_t i = 0; rc == 0 && i < steps->rank_count; i++) {
		for (size_t k = 0; k < steps->count; k++) {
			own[k] = hk_steps_own(steps, i, k);
		}
		rc = rises_add(finder, i, own);
	}
	free(own);
	return rc < 0 ? rc : rises_add(finder, SIZE_MAX, finder->durations);
}

static bool is_same_moment(const struct finder *finder, const struct rise *x, const struct rise *y)
{
	size_t most = finder->steps->count / SAME_OF_ALL;
	size_t apart =
	    x->change.at > y->change.at ? x->change.at - y->change.at : y->change.at - x->change.at;

	return apart <= (most > SAME_LEAST ? most : SAME_LEAST);
}

/* Returns the most expensive rise that is not taken: of a rank's own time if there is one, else of
 * the steps. NULL: there is none. */
static struct rise *most_expensive(struct finder *finder)
{
	struct rise *most = NULL;

	for (size_t i = 0; i < finder->rise_count; i++) {
		struct rise *rise = &finder->rises[i];
		bool worse = most && (rise->rank == SIZE_MAX) == (most->rank == SIZE_MAX)
				 ? cost_of(rise) > cost_of(most)
				 : !most || most->rank == SIZE_MAX;
		most = !rise->taken && worse ? rise : most;
	}
	return most;
}

/* Sets the medians of own times, before and after SHIFT, over the ranks that are not in it. */
static void others_compare(struct finder *finder, struct hk_shift *shift, double *medians)
{
	size_t next = 0, count = 0, ranks = finder->steps->rank_count;

	for (size_t i = 0; i < ranks; i++) {
		if (next < shift->rank_count && shift->ranks[next] == i) {
			next++;
			continue;
		}
		for (size_t k = shift->from; k < shift->to; k++) {
			finder->values[k] = hk_steps_own(finder->steps, i, k);
		}
		medians[ranks + count] =
		    hk_changes_median(finder->values + shift->at, shift->to - shift->at);
		medians[count++] =
		    hk_changes_median(finder->values + shift->from, shift->at - shift->from);
	}
	if (count > 0) {
		shift->others_before_ns = hk_changes_median(medians, count);
		shift->others_after_ns = hk_changes_median(medians + ranks, count);
	}
}

/* Adds the ranks to SHIFT that change when LEADER does, which are taken then. */
static void join(struct finder *finder, const struct rise *leader, struct hk_shift *shift)
{
	for (size_t i = 0; i < finder->rise_count; i++) {
		struct rise *rise = &finder->rises[i];
		if (rise->taken || !is_same_moment(finder, rise, leader)) {
			continue;
		}
		rise->taken = true;
		bool again =
		    shift->rank_count > 0 && shift->ranks[shift->rank_count - 1] == rise->rank;
		if (rise->rank != SIZE_MAX && !again) {
			shift->ranks[shift->rank_count++] = rise->rank;
		}
	}
	for (size_t i = 0; !shift->own && i < finder->steps->rank_count; i++) {
		shift->ranks[shift->rank_count++] = i;
	}
}

static int shift_add(struct finder *finder, struct rise *leader, struct hk_shifts *shifts)
{
	const struct hk_change *change = &leader->change;
	struct hk_shift shift = {.own = leader->rank != SIZE_MAX,
				 .from = change->from,
				 .at = change->at,
				 .to = change->to,
				 .leader = leader->rank != SIZE_MAX ? leader->rank : 0,
				 .before_ns = change->before,
				 .after_ns = change->after,
				 .chance = change->chance};
	size_t ranks = finder->steps->rank_count;
	double *medians = calloc(2 * ranks, sizeof(*medians));

	shift.ranks = calloc(ranks, sizeof(*shift.ranks));
	if (!medians || !shift.ranks) {
		free(medians);
		free(shift.ranks);
		return -ENOMEM;
	}
	join(finder, leader, &shift);
	shift.step_before_ns =
	    median_of(finder, finder->durations + shift.from, shift.at - shift.from);
	shift.step_after_ns = median_of(finder, finder->durations + shift.at, shift.to - shift.at);
	others_compare(finder, &shift, medians);
	free(medians);
	shifts->list[shifts->count++] = shift;
	return 0;
}

/* Removes the shifts that are not certain. */
static void uncertain_remove(const struct hk_steps *steps, const struct hk_report *report,
			     struct hk_shifts *shifts)
{
	size_t kept = 0;

	for (size_t i = 0; i < shifts->count; i++) {
		if (hk_shift_is_certain(steps, report, &shifts->list[i])) {
			shifts->list[kept++] = shifts->list[i];
		} else {
			free(shifts->list[i].ranks);
		}
	}
	shifts->count = kept;
}

int hk_shifts_find(const struct hk_steps *steps, const struct hk_report *report,
		   struct hk_shifts *ret_shifts)
{
	size_t room = steps->count > steps->rank_count ? steps->count : steps->rank_count;
	struct finder finder = {.steps = steps};
	struct rise *leader;

	*ret_shifts = (struct hk_shifts){0};
	if (!steps->known || steps->count < 2 * HK_CHANGE_SIDE) {
		return 0;
	}
	finder.durations = calloc(steps->count, sizeof(*finder.durations));
	finder.values = calloc(room, sizeof(*finder.values));
	finder.rises = calloc((steps->rank_count + 1) * HK_CHANGES_MOST, sizeof(*finder.rises));
	int rc = finder.durations && finder.values && finder.rises ? rises_find(&finder) : -ENOMEM;
	while (rc == 0 && ret_shifts->count < HK_SHIFTS_MOST &&
	       (leader = most_expensive(&finder))) {
		rc = shift_add(&finder, leader, ret_shifts);
	}
	free(finder.durations);
	free(finder.values);
	free(finder.rises);
	uncertain_remove(steps, report, ret_shifts);
	return rc;
}

void hk_shifts_fini(struct hk_shifts *shifts)
{
	for (size_t i = 0; i < shifts->count; i++) {
		free(shifts->list[i].ranks);
	}
	*shifts = (struct hk_shifts){0};
}
