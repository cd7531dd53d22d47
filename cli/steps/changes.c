#include "cli/steps/changes.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SIDE_OF_ALL 16u	   /* least part of the series on each side of a change: one in so many */
#define LAYERS 3u	   /* the whole series, halves, quarters */
#define PART_LEAST 32u	   /* least length of a half or a quarter */
#define BATCHES_LEAST 16u  /* batches from which a variance is estimated */
#define LIKENESS_MOST 0.95 /* largest correlation of neighbouring batches that is corrected for */
#define LIKENESS_BY_CHANCE 0.5 /* standard errors of it that count as chance */
/* Values farther from the quartiles than so many interquartile ranges are outliers. */
#define CLIP_RANGES 2
#define CANDIDATES 16u /* changes before the small ones are left out */
/* Windows beside a change, in which most of its difference must be there already. */
#define WINDOW_OF_SIDE 6u
#define WINDOW_LEAST 10u
#define WINDOW_MOST 64u
#define WINDOW_SHARE 0.5

struct item {
	double value;
	size_t place;
};

struct search {
	const double *values;
	size_t count, side;
	double splits;	     /* number of tried splits, in all series */
	double *ranks, *sum; /* of one part; sum[i]: of those before i */
	double *clipped;     /* values of the part, without outliers */
	double *scratch;
	struct item *items;
	size_t at[CANDIDATES + 2];     /* 0, changes, count */
	double chance[CANDIDATES + 1]; /* of the changes, from 1 on */
	size_t found;		       /* changes */
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double hk_changes_median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static int by_item(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	return by_value(&x->value, &y->value);
}

/* Sets the ranks of the values in [FROM, TO), equal ones sharing theirs, their sums, and the values
 * without outliers. */
static void rank(struct search *search, size_t from, size_t to)
{
	size_t count = to - from;

	for (size_t i = 0; i < count; i++) {
		search->items[i] = (struct item){search->values[from + i], i};
	}
	qsort(search->items, count, sizeof(*search->items), by_item);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i + 1;
		     end < count && search->items[end].value <= search->items[i].value;) {
			end++;
		}
		for (size_t k = i; k < end; k++) {
			search->ranks[search->items[k].place] = (double)(i + end - 1) / 2;
		}
	}
	double low = search->items[count / 4].value,
	       high = search->items[count - 1 - count / 4].value;
	double most = CLIP_RANGES * (high - low);
	for (size_t i = 0; i < count; i++) {
		double value = search->values[from + i];
		search->clipped[i] = fmin(fmax(value, low - most), high + most);
	}
	search->sum[0] = 0;
	for (size_t i = 0; i < count; i++) {
		search->sum[i + 1] = search->sum[i] + search->ranks[i];
	}
}

/* Returns the difference between the mean ranks behind and before AT of COUNT ranks. */
static double difference_at(const struct search *search, size_t count, size_t at)
{
	return (search->sum[count] - search->sum[at]) / (double)(count - at) -
	       search->sum[at] / (double)at;
}

/* Returns the probability of T or more by Student's t with FREEDOM, by Wallace's normal
 * approximation. */
static double chance_of(double t, double freedom)
{
	double deviate =
	    (8 * freedom + 1) / (8 * freedom + 3) * sqrt(freedom * log1p(t * t / freedom));

	return erfc(deviate / M_SQRT2) / 2;
}

/* Returns the variance of one of RESIDUALS, as batches of WIDTH of them show it: neighbours that
 * are alike raise it. Sets *RET_FREEDOM to the number of batches as if they were independent, less
 * two.
 */
static double variance_of(const double *residuals, size_t count, size_t width, double *ret_freedom)
{
	size_t batches = count / width;
	double squares = 0, products = 0, last = 0;

	for (size_t i = 0; i < batches; i++) {
		double sum = 0;
		for (size_t k = 0; k < width; k++) {
			sum += residuals[i * width + k];
		}
		squares += sum * sum;
		products += i > 0 ? sum * last : 0;
		last = sum;
	}
	double likeness =
	    squares > 0 ? products / squares - LIKENESS_BY_CHANCE / sqrt((double)batches) : 0;
	likeness = fmin(fmax(likeness, 0), LIKENESS_MOST);
	double inflation = (1 + likeness) / (1 - likeness);
	*ret_freedom = fmax((double)batches / inflation - 2, 1);
	return squares / (double)(batches - 2) / (double)width * inflation;
}

/* Returns the chance of a DIFFERENCE of levels, of which each unit of variance of the residuals in
 * SEARCH->scratch has WEIGHT. Of all widths of batches the one with the largest variance counts. */
static double chance_in(const struct search *search, size_t count, double difference, double weight)
{
	double variance = 0, freedom = 1;

	for (size_t width = 1; count / width >= BATCHES_LEAST; width *= 2) {
		double own_freedom, own = variance_of(search->scratch, count, width, &own_freedom);
		if (own > variance) {
			variance = own;
			freedom = own_freedom;
		}
	}
	double error = sqrt(variance * weight);
	return error > 0 ? 2 * chance_of(fabs(difference) / error, freedom) : difference == 0;
}

/* Values of a part as a line and as a step AT: sums of products, without means. */
struct fit {
	double mean, middle;	/* of the values and of their places */
	double behind;		/* part of the places behind the step */
	double line, line_with; /* of the line: with itself, with the values */
	double step, step_with; /* of the step */
	double slope;		/* of the line closest to the step */
	double rest, rest_with; /* of the step without that line */
};

static struct fit fit_of(const double *values, size_t count, size_t at)
{
	double n = (double)count, sum = 0, behind = 0;
	struct fit fit = {.middle = (n - 1) / 2, .line = n * (n * n - 1) / 12};

	for (size_t i = 0; i < count; i++) {
		sum += values[i];
		behind += i >= at ? values[i] : 0;
		fit.line_with += ((double)i - fit.middle) * values[i];
	}
	fit.mean = sum / n;
	fit.behind = (n - (double)at) / n;
	fit.step = (double)at * fit.behind;
	fit.step_with = behind - sum * fit.behind;
	fit.slope = n * fit.step / 2 / fit.line;
	fit.rest = fit.step - fit.slope * fit.slope * fit.line;
	fit.rest_with = fit.step_with - fit.slope * fit.line_with;
	return fit;
}

/* Sets the residuals of COUNT VALUES without a line of that SLOPE and a step of that HEIGHT AT. */
static void residuals_set(struct search *search, const double *values, size_t count, size_t at,
			  const struct fit *fit, double slope, double height)
{
	for (size_t i = 0; i < count; i++) {
		search->scratch[i] = values[i] - fit->mean - slope * ((double)i - fit->middle) -
				     height * ((i >= at ? 1 : 0) - fit->behind);
	}
}

/* Returns the chance of two levels, one from AT on, if there is one. It is 1 if a line is closer to
 * the ranks than two levels are. */
static double levels_chance(struct search *search, size_t count, size_t at)
{
	struct fit fit = fit_of(search->ranks, count, at);
	double height = fit.step_with / fit.step;

	if (fit.step_with * fit.step_with / fit.step <= fit.line_with * fit.line_with / fit.line) {
		return 1;
	}
	residuals_set(search, search->ranks, count, at, &fit, 0, height);
	return chance_in(search, count, height, 1 / fit.step);
}

/* Returns the chance of a line with a step AT, if there is a line without one. */
static double drift_chance(struct search *search, size_t count, size_t at)
{
	struct fit fit = fit_of(search->clipped, count, at);
	double height = fit.rest_with / fit.rest;
	double slope = fit.line_with / fit.line - height * fit.slope;

	if (height * fit.step_with <= 0) {
		return 1;
	}
	residuals_set(search, search->clipped, count, at, &fit, slope, height);
	return chance_in(search, count, height, 1 / fit.rest);
}

/* Returns the chance of a change AT of the part that was ranked, if there is none. */
static double split_chance(struct search *search, size_t count, size_t at)
{
	double chance = fmin(levels_chance(search, count, at), drift_chance(search, count, at));

	return fmin(2 * chance * search->splits, 1);
}

/* Sets *RET_AT to the best split of [FROM, TO), and returns the chance that it is none. */
static double split(struct search *search, size_t from, size_t to, size_t *ret_at)
{
	size_t count = to - from, best = 0;
	double most = -1;

	if (count < 2 * search->side) {
		return 1;
	}
	rank(search, from, to);
	for (size_t at = search->side; at + search->side <= count; at++) {
		double weight = (double)at * (double)(count - at) / (double)count;
		double size = fabs(difference_at(search, count, at)) * sqrt(weight);
		if (size > most) {
			most = size;
			best = at;
		}
	}
	*ret_at = from + best;
	return split_chance(search, count, best);
}

/* Finds the surest change in [FROM, TO): of the whole, and of the halves and quarters of the series
 * that lie in it. Returns its chance. */
static double surest(struct search *search, size_t from, size_t to, size_t *ret_at)
{
	double chance = split(search, from, to, ret_at);

	for (size_t layer = 1; layer < LAYERS; layer++) {
		size_t length = search->count >> layer, step = length / 2, at = 0;
		for (size_t i = 0; length >= PART_LEAST && i + length <= search->count; i += step) {
			double own =
			    i >= from && i + length <= to ? split(search, i, i + length, &at) : 1;
			if (own < chance) {
				chance = own;
				*ret_at = at;
			}
		}
	}
	return chance;
}

/* Inserts the change AT of CHANCE. */
static void insert(struct search *search, size_t at, double chance)
{
	size_t place = search->found + 1;

	search->at[place + 1] = search->at[place];
	while (search->at[place - 1] > at) {
		search->at[place] = search->at[place - 1];
		search->chance[place] = search->chance[place - 1];
		place--;
	}
	search->at[place] = at;
	search->chance[place] = chance;
	search->found++;
}

/* Adds changes, the surest first in each part, until there are no further ones. */
static void divide(struct search *search)
{
	for (size_t i = 0; i <= search->found && search->found < CANDIDATES;) {
		size_t at = 0;
		double chance = surest(search, search->at[i], search->at[i + 1], &at);
		if (chance <= HK_CHANGE_CHANCE) {
			insert(search, at, chance);
		} else {
			i++;
		}
	}
}

static double median_of(struct search *search, size_t from, size_t to)
{
	memcpy(search->scratch, search->values + from, (to - from) * sizeof(*search->values));
	return hk_changes_median(search->scratch, to - from);
}

/* Whether half of the difference of CHANGE is there right beside it. A drift has less of it. */
static bool is_sudden(struct search *search, const struct hk_change *change)
{
	size_t side = change->at - change->from < change->to - change->at
			  ? change->at - change->from
			  : change->to - change->at;
	size_t window = side / WINDOW_OF_SIDE;

	window = window < WINDOW_LEAST ? WINDOW_LEAST : window;
	window = window > WINDOW_MOST ? WINDOW_MOST : window;
	window = window > side ? side : window;
	double near = median_of(search, change->at, change->at + window) -
		      median_of(search, change->at - window, change->at);
	double far = change->after - change->before;
	return far > 0 ? near >= WINDOW_SHARE * far : near <= WINDOW_SHARE * far;
}

/* Sets *RET_CHANGE to change INDEX. Returns whether it counts: it is large, sudden and sure between
 * its neighbours too, where batches are wider than in the part in which it was found. */
static bool judge(struct search *search, size_t index, struct hk_change *ret_change)
{
	struct hk_change change = {.from = search->at[index],
				   .at = search->at[index + 1],
				   .to = search->at[index + 2],
				   .chance = search->chance[index + 1]};

	rank(search, change.from, change.to);
	change.chance = fmax(
	    change.chance, split_chance(search, change.to - change.from, change.at - change.from));
	change.before = median_of(search, change.from, change.at);
	change.after = median_of(search, change.at, change.to);
	*ret_change = change;
	return change.chance <= HK_CHANGE_CHANCE &&
	       fabs(change.after - change.before) >= HK_CHANGE_LEAST * change.before &&
	       is_sudden(search, &change);
}

static void leave_out(struct search *search, size_t index)
{
	for (size_t i = index + 1; i <= search->found; i++) {
		search->at[i] = search->at[i + 1];
		search->chance[i] = i < search->found ? search->chance[i + 1] : 0;
	}
	search->found--;
}

/* Keeps the largest ones of COUNT CHANGES. */
static void keep(const struct hk_change *changes, size_t count, struct hk_changes *ret_changes)
{
	for (size_t i = 0; i < count; i++) {
		size_t larger = 0;
		for (size_t k = 0; k < count; k++) {
			double own = fabs(log(changes[i].after / changes[i].before));
			double other = fabs(log(changes[k].after / changes[k].before));
			larger += other > own || (other >= own && k < i);
		}
		if (larger < HK_CHANGES_MOST) {
			ret_changes->list[ret_changes->count++] = changes[i];
		}
	}
}

/* Leaves out changes that do not count, the least sure one first, until all count. */
static void choose(struct search *search, struct hk_changes *ret_changes)
{
	struct hk_change changes[CANDIDATES];

	for (;;) {
		size_t worst = 0;
		double most = -1;
		bool all = true;
		for (size_t i = 0; i < search->found; i++) {
			bool counts = judge(search, i, &changes[i]);
			double size = counts ? -1 : changes[i].chance;
			worst = size > most ? i : worst;
			most = fmax(most, size);
			all = all && counts;
		}
		if (all) {
			keep(changes, search->found, ret_changes);
			return;
		}
		leave_out(search, worst);
	}
}

/* Returns the number of splits that a search for the first change tries. */
static double splits_of(size_t count)
{
	double sum = (double)count;

	for (size_t layer = 1; layer < LAYERS; layer++) {
		size_t length = count >> layer;
		sum += length >= PART_LEAST ? 2 * (double)count - (double)length : 0;
	}
	return sum;
}

int hk_changes_find(const double *values, size_t count, size_t series,
		    struct hk_changes *ret_changes)
{
	struct search search = {.values = values, .count = count};

	*ret_changes = (struct hk_changes){0};
	search.side = count / SIDE_OF_ALL > HK_CHANGE_SIDE ? count / SIDE_OF_ALL : HK_CHANGE_SIDE;
	if (count < 2 * search.side) {
		return 0;
	}
	search.splits = splits_of(count) * (double)series;
	search.ranks = calloc(4 * count + 1, sizeof(*search.ranks));
	search.items = calloc(count, sizeof(*search.items));
	if (search.ranks && search.items) {
		search.sum = search.ranks + count;
		search.scratch = search.sum + count + 1;
		search.clipped = search.scratch + count;
		search.at[1] = count;
		divide(&search);
		choose(&search, ret_changes);
	}
	int rc = search.ranks && search.items ? 0 : -ENOMEM;
	free(search.ranks);
	free(search.items);
	return rc;
}
