#include "report/findings/late.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Largest probability that chance names a rank although all are equal, over all ranks together. In
 * 200 runs of LAMMPS, 0.001 missed ranks that were late, and 0.01 named no further ranks. */
#define CHANCE_MOST 0.01
#define SURE_EXCESS_LEAST 0.025 /* excess less two standard errors */
#define BATCHES_MORE 12u	/* least number, of 16, in which the rank works longer */
/* Neighbouring batches that are alike carry less information than independent ones. With 16 batches
 * a correlation of LIKENESS_BY_CHANCE may be chance. Correlations above LIKENESS_MOST are clamped.
 */
#define LIKENESS_BY_CHANCE 0.25
#define LIKENESS_MOST 0.5

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Returns the median of SORTED after one element equal to VALUE is removed. */
static double median_without(const double *sorted, size_t count, double value)
{
	size_t place = 0;

	while (place + 1 < count && sorted[place] < value) {
		place++;
	}
	size_t left = count - 1, low = (left - 1) / 2, high = left / 2;
	return (sorted[low + (low >= place)] + sorted[high + (high >= place)]) / 2;
}

/* Returns the probability that the mean of N values around 0 is T standard errors above 0 or more,
 * by Wallace's normal approximation of Student's t. */
static double chance_of(double t, double n)
{
	double freedom = n - 1;
	double deviate =
	    (8 * freedom + 1) / (8 * freedom + 3) * sqrt(freedom * log1p(t * t / freedom));

	return erfc(deviate / M_SQRT2) / 2;
}

/* Returns the standard error of the mean of DIFFERENCES, which are in the order of time. */
static double error_of(const double *differences, double mean)
{
	double squares = 0, products = 0;

	for (size_t i = 0; i < HK_LATE_BATCHES; i++) {
		double here = differences[i] - mean;
		squares += here * here;
		products += i > 0 ? here * (differences[i - 1] - mean) : 0;
	}
	double likeness = squares > 0 ? products / squares - LIKENESS_BY_CHANCE : 0;
	likeness = fmin(fmax(likeness, 0), LIKENESS_MOST);
	double variance = squares / (HK_LATE_BATCHES - 1) / HK_LATE_BATCHES;
	return sqrt(variance * (1 + likeness) / (1 - likeness));
}

/* Returns the work of all COUNT ranks in each batch, ascending. The caller frees it with free().
 * Returns NULL if out of memory. */
static double *sorted_new(const double *work, size_t count)
{
	double *sorted = calloc(count * HK_LATE_BATCHES, sizeof(*sorted));

	for (size_t i = 0; sorted && i < HK_LATE_BATCHES; i++) {
		for (size_t k = 0; k < count; k++) {
			sorted[i * count + k] = work[k * HK_LATE_BATCHES + i];
		}
		qsort(sorted + i * count, count, sizeof(*sorted), by_value);
	}
	return sorted;
}

/* Compares rank NUMBER with the others in each batch. Sets *RET_MORE to the number of batches in
 * which it works longer. All results are 0 if the others have no work. */
static void compare(const double *work, const double *sorted, size_t count, size_t number,
		    struct hk_late *ret_late, size_t *ret_more)
{
	struct hk_late late = {.rank = number};
	double differences[HK_LATE_BATCHES];
	size_t more = 0;

	for (size_t i = 0; i < HK_LATE_BATCHES; i++) {
		double here = work[number * HK_LATE_BATCHES + i];
		double others = median_without(sorted + i * count, count, here);
		differences[i] = here - others;
		more += here > others;
		late.work += here;
		late.others += others;
	}
	*ret_more = late.others > 0 ? more : 0;
	if (late.others > 0) {
		double mean = (late.work - late.others) / HK_LATE_BATCHES;
		double batch = late.others / HK_LATE_BATCHES;
		late.error = error_of(differences, mean) / batch;
		late.excess = late.work / late.others - 1;
		qsort(differences, HK_LATE_BATCHES, sizeof(*differences), by_value);
		late.typical =
		    (differences[HK_LATE_BATCHES / 2 - 1] + differences[HK_LATE_BATCHES / 2]) / 2 /
		    batch;
	}
	*ret_late = late;
}

static bool is_late(const struct hk_late *late, size_t more, size_t count)
{
	return late->excess >= HK_LATE_EXCESS_LEAST &&
	       late->excess - 2 * late->error >= SURE_EXCESS_LEAST && more >= BATCHES_MORE &&
	       (late->error <= 0 ||
		chance_of(late->excess / late->error, HK_LATE_BATCHES) * (double)count <=
		    CHANCE_MOST);
}

int hk_late_find(const double *work, size_t count, struct hk_late *ret_late)
{
	double *sorted = count > 1 ? sorted_new(work, count) : NULL;
	struct hk_late late;
	size_t more;
	int found = 0;

	if (!sorted) {
		return count > 1 ? -ENOMEM : 0;
	}
	for (size_t k = 0; k < count; k++) {
		compare(work, sorted, count, k, &late, &more);
		if (is_late(&late, more, count) && (!found || late.excess > ret_late->excess)) {
			*ret_late = late;
			found = 1;
		}
	}
	free(sorted);
	return found;
}

int hk_late_compare(const double *work, size_t count, size_t number, struct hk_late *ret_late)
{
	double *sorted = sorted_new(work, count);
	size_t more;

	if (!sorted) {
		return -ENOMEM;
	}
	compare(work, sorted, count, number, ret_late, &more);
	free(sorted);
	return 0;
}
