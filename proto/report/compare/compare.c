#include "report/compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ring/sample.h"
#include "sketch/histogram.h"

#define Z_BOTH 2.2414 /* normal quantile of 0.9875: two intervals at 97.5 % hold both at 95 % */
#define Z_ONE 1.9600  /* normal quantile of 0.975 */
#define RANKS_LEAST 4u

struct interval {
	double low, high;
};

static const struct interval unknown = {NAN, NAN};

/* ---- one side ---- */

/* Returns the number of calls of equal weight that carry the same information: the square of the
 * sum of the weights over the sum of their squares. */
static double effective_calls(const struct hk_report_numbers *numbers)
{
	const double weight = HK_SAMPLE_WEIGHT, timed = (double)numbers->timed;
	double all = (double)numbers->weight;
	double samples = all > timed ? (all - timed) / (weight - 1) : 0;

	return timed > 0 ? all * all / (timed + samples * (weight * weight - 1)) : 0;
}

/* Returns the interval, in ns, of the true QUANTILE: from one order statistic to another, including
 * their buckets. With too few calls the lower end is 0, or the upper end is INFINITY. */
static struct interval quantile_interval(const struct hk_report_numbers *numbers, double quantile)
{
	const struct hk_report_buckets *buckets = &numbers->buckets;
	double n = effective_calls(numbers), scale = n > 0 ? n / (double)numbers->weight : 1;
	double half = Z_BOTH * sqrt(n * quantile * (1 - quantile));
	double first = floor(n * quantile - half), last = ceil(n * quantile + half) + 1;
	struct interval interval = {0, INFINITY};
	double below = 0;

	for (size_t i = 0; i < buckets->used; i++) {
		double upto = below + scale * (double)buckets->count[i];
		double lower = (double)hk_histogram_lower_ns(buckets->index[i]);
		if (first >= 1 && first > below && first <= upto) {
			interval.low = fmax(lower, (double)numbers->min_ns);
		}
		if (last > below && last <= upto) {
			double upper = lower + (double)hk_histogram_width_ns(buckets->index[i]);
			interval.high = fmin(upper, (double)numbers->max_ns);
		}
		below = upto;
	}
	return interval;
}

/* Returns the interval, in ns, of the true mean. Its standard error comes from the middles of the
 * buckets. With less than two calls it is 0 to INFINITY. */
static struct interval mean_interval(const struct hk_report_numbers *numbers)
{
	const struct hk_report_buckets *buckets = &numbers->buckets;
	double n = effective_calls(numbers), mean = (double)numbers->mean_ns, squares = 0;

	if (n < 2) {
		return (struct interval){0, INFINITY};
	}
	for (size_t i = 0; i < buckets->used; i++) {
		double middle = (double)hk_histogram_lower_ns(buckets->index[i]) +
				(double)hk_histogram_width_ns(buckets->index[i]) / 2;
		squares += (double)buckets->count[i] * (middle - mean) * (middle - mean);
	}
	double half = Z_BOTH * sqrt(squares / (double)numbers->weight / (n - 1));
	return (struct interval){fmax(0, mean - half), mean + half};
}

static double value_of(const struct hk_report_numbers *numbers, enum hk_compare_figure figure)
{
	bool measured = figure <= HK_COMPARE_ERRORS  ? true
			: figure == HK_COMPARE_BYTES ? numbers->have_bytes
			: figure == HK_COMPARE_TOTAL ? numbers->have_total
						     : numbers->have_latency;
	const uint64_t values[HK_COMPARE_FIGURES] = {
	    [HK_COMPARE_CALLS] = numbers->calls,  [HK_COMPARE_ERRORS] = numbers->errors,
	    [HK_COMPARE_BYTES] = numbers->bytes,  [HK_COMPARE_TOTAL] = numbers->total_ns,
	    [HK_COMPARE_MEAN] = numbers->mean_ns, [HK_COMPARE_P50] = numbers->p50_ns,
	    [HK_COMPARE_P90] = numbers->p90_ns,	  [HK_COMPARE_P99] = numbers->p99_ns,
	};

	return measured ? (double)values[figure] : NAN;
}

static struct interval interval_of(const struct hk_report_numbers *numbers,
				   enum hk_compare_figure figure)
{
	double value = value_of(numbers, figure);
	struct interval mean;

	switch (figure) {
	case HK_COMPARE_P50:
		return quantile_interval(numbers, 0.50);
	case HK_COMPARE_P90:
		return quantile_interval(numbers, 0.90);
	case HK_COMPARE_P99:
		return quantile_interval(numbers, 0.99);
	case HK_COMPARE_MEAN:
		return mean_interval(numbers);
	case HK_COMPARE_TOTAL:
		/* The number of calls is exact, so the total is as uncertain as the mean. */
		mean = mean_interval(numbers);
		if (!(numbers->mean_ns > 0)) {
			return unknown;
		}
		return (struct interval){value * mean.low / (double)numbers->mean_ns,
					 value * mean.high / (double)numbers->mean_ns};
	default:
		return (struct interval){value, value};
	}
}

/* ---- both ---- */

static double ratio_of(double a, double b)
{
	if (a == 0) {
		return b == 0 ? 0 : b > 0 ? (double)INFINITY : (double)NAN;
	}
	return b / a - 1;
}

static struct hk_compared compared(double a, double b, struct interval of_a, struct interval of_b)
{
	struct hk_compared both = {a, b, {ratio_of(a, b), NAN, NAN}};

	if (!isnan(both.change.ratio) && !isnan(of_a.low) && !isnan(of_b.low)) {
		both.change.low = ratio_of(of_a.high, of_b.low);
		both.change.high = ratio_of(of_a.low, of_b.high);
		if (isinf(of_a.high)) {
			both.change.low = -1;
		}
	}
	return both;
}

double hk_compare_student(size_t degrees)
{
	/* Cornish-Fisher expansion: Abramowitz and Stegun, 26.7.5. */
	double z = Z_ONE, z2 = z * z, v = (double)degrees;

	return z + z * (z2 + 1) / (4 * v) + z * ((5 * z2 + 16) * z2 + 3) / (96 * v * v) +
	       z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / (384 * v * v * v);
}

/* Widens CHANGE to the interval that the differences between the ranks' changes give. A and B are
 * COUNT groups of the same function, one per rank, in the same order. Does nothing with fewer than
 * RANKS_LEAST ranks. */
static void widen(struct hk_change *change, const struct hk_group *const *a,
		  const struct hk_group *const *b, size_t count, enum hk_compare_figure figure)
{
	double sum = 0, squares = 0;

	if (count < RANKS_LEAST || isnan(change->low)) {
		return;
	}
	for (size_t i = 0; i < count; i++) {
		double before = value_of(&a[i]->numbers, figure);
		double after = value_of(&b[i]->numbers, figure);
		if (!(before > 0) || !(after > 0)) {
			return;
		}
		double step = log(after / before);
		sum += step;
		squares += step * step;
	}
	double n = (double)count, mean = sum / n;
	double variance = fmax(0, squares / n - mean * mean) * n / (n - 1);
	double half = hk_compare_student(count - 1) * sqrt(variance / n);
	change->low = fmin(change->low, (1 + change->ratio) * exp(-half) - 1);
	change->high = fmax(change->high, (1 + change->ratio) * exp(half) - 1);
}

bool hk_change_significant(const struct hk_change *change)
{
	return change->low > 0 || change->high < 0;
}

/* ---- rows ---- */

/* The groups of one job, ordered by name: by function, and by function and rank. */
struct side {
	struct hk_groups functions, ranks;
	const struct hk_group **function, **rank;
};

static int by_name(const struct hk_group *x, const struct hk_group *y)
{
	int order = strcmp(x->role, y->role);

	order = order ? order : strcmp(x->domain, y->domain);
	return order ? order : strcmp(x->function, y->function);
}

static int by_name_and_rank(const void *a, const void *b)
{
	const struct hk_group *x = *(const struct hk_group *const *)a;
	const struct hk_group *y = *(const struct hk_group *const *)b;
	int order = by_name(x, y);

	return order ? order : (x->rank > y->rank) - (x->rank < y->rank);
}

static const struct hk_group **in_order(const struct hk_groups *groups)
{
	const struct hk_group **order = calloc(groups->count + 1, sizeof(struct hk_group *));

	for (size_t i = 0; order && i < groups->count; i++) {
		order[i] = &groups->groups[i];
	}
	if (order) {
		qsort(order, groups->count, sizeof(struct hk_group *), by_name_and_rank);
	}
	return order;
}

static void side_fini(struct side *side)
{
	free(side->function);
	free(side->rank);
	hk_groups_fini(&side->functions);
	hk_groups_fini(&side->ranks);
}

static int side_init(struct side *side, const struct hk_report *report)
{
	int r = hk_groups_init(&side->functions, report, HK_GROUP_FUNCTION);

	r = r < 0 ? r : hk_groups_init(&side->ranks, report, HK_GROUP_FUNCTION | HK_GROUP_RANK);
	if (r < 0) {
		return r;
	}
	side->function = in_order(&side->functions);
	side->rank = in_order(&side->ranks);
	return side->function && side->rank ? 0 : -ENOMEM;
}

/* Finds the groups by rank of GROUP's function, which begin at *AT. Sets *RET_FIRST to the first
 * one, moves *AT behind the last one and returns their number. */
static size_t ranks_of(const struct side *side, const struct hk_group *group, size_t *at,
		       const struct hk_group *const **ret_first)
{
	size_t count = 0;

	*ret_first = &side->rank[*at];
	while (*at < side->ranks.count && by_name(side->rank[*at], group) == 0) {
		++*at;
		count++;
	}
	return count;
}

static bool same_ranks(const struct hk_group *const *a, const struct hk_group *const *b,
		       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (a[i]->rank != b[i]->rank) {
			return false;
		}
	}
	return true;
}

static void row_fill(struct hk_compare_row *row, const struct hk_group *a, const struct hk_group *b)
{
	static const struct hk_report_numbers none;
	const struct hk_group *named = a ? a : b;

	*row = (struct hk_compare_row){named->role, named->domain, named->function,
				       .in_a = a != NULL, .in_b = b != NULL};
	for (enum hk_compare_figure figure = 0; figure < HK_COMPARE_FIGURES; figure++) {
		const struct hk_report_numbers *of_a = a ? &a->numbers : &none;
		const struct hk_report_numbers *of_b = b ? &b->numbers : &none;
		double before = value_of(of_a, figure), after = value_of(of_b, figure);
		/* In a job without calls of the function, sums are 0 and latencies stay unknown. */
		bool sums = figure <= HK_COMPARE_TOTAL;
		before = !a && sums ? 0 : before;
		after = !b && sums ? 0 : after;
		row->figure[figure] =
		    compared(before, after, a ? interval_of(of_a, figure) : (struct interval){0, 0},
			     b ? interval_of(of_b, figure) : (struct interval){0, 0});
	}
}

static void compare_rows(struct hk_compare *compare, const struct side *a, const struct side *b)
{
	size_t at_a = 0, at_b = 0, rank_a = 0, rank_b = 0;

	while (at_a < a->functions.count || at_b < b->functions.count) {
		const struct hk_group *x = at_a < a->functions.count ? a->function[at_a] : NULL;
		const struct hk_group *y = at_b < b->functions.count ? b->function[at_b] : NULL;
		int order = !x ? 1 : !y ? -1 : by_name(x, y);
		struct hk_compare_row *row = &compare->rows[compare->row_count++];
		const struct hk_group *const *of_x, *const *of_y;
		size_t count_x = 0, count_y = 0;

		row_fill(row, order <= 0 ? x : NULL, order >= 0 ? y : NULL);
		if (order <= 0) {
			count_x = ranks_of(a, x, &rank_a, &of_x);
			at_a++;
		}
		if (order >= 0) {
			count_y = ranks_of(b, y, &rank_b, &of_y);
			at_b++;
		}
		if (order != 0 || count_x != count_y || !same_ranks(of_x, of_y, count_x)) {
			continue;
		}
		for (enum hk_compare_figure figure = HK_COMPARE_TOTAL; figure < HK_COMPARE_FIGURES;
		     figure++) {
			widen(&row->figure[figure].change, of_x, of_y, count_x, figure);
		}
	}
}

static double total_difference(const struct hk_compare_row *row)
{
	double difference = fabs(row->figure[HK_COMPARE_TOTAL].b - row->figure[HK_COMPARE_TOTAL].a);

	return isnan(difference) ? -1 : difference;
}

static int by_difference(const void *a, const void *b)
{
	const struct hk_compare_row *x = a, *y = b;
	double of_x = total_difference(x), of_y = total_difference(y);

	if (of_x != of_y) {
		return of_x > of_y ? -1 : 1;
	}
	int order = strcmp(x->function, y->function);
	order = order ? order : strcmp(x->domain, y->domain);
	return order ? order : strcmp(x->role, y->role);
}

/* ---- memory ---- */

static bool same_memory(const struct hk_report_memory *x, const struct hk_report_memory *y)
{
	return x->device == y->device && strcmp(x->kind, y->kind) == 0 &&
	       strcmp(x->role, y->role) == 0;
}

/* Returns the row of REPORT with the highest peak over the ranks, of MEMORY's device, kind and
 * role, or NULL. */
static const struct hk_report_memory *highest(const struct hk_report *report,
					      const struct hk_report_memory *memory)
{
	const struct hk_report_memory *found = NULL;

	for (size_t i = 0; i < report->memory_count; i++) {
		const struct hk_report_memory *row = &report->memory[i];
		if (strcmp(row->library, "*") == 0 && same_memory(row, memory) &&
		    (!found || row->peak_bytes > found->peak_bytes)) {
			found = row;
		}
	}
	return found;
}

static struct interval peak_interval(const struct hk_report_memory *memory)
{
	return memory ? (struct interval){(double)memory->peak_low, (double)memory->peak_high}
		      : (struct interval){0, 0};
}

static bool memory_known(const struct hk_compare *compare, const struct hk_report_memory *memory)
{
	for (size_t i = 0; i < compare->memory_count; i++) {
		const struct hk_compare_memory *row = &compare->memory[i];
		if (row->device == memory->device && strcmp(row->kind, memory->kind) == 0 &&
		    strcmp(row->role, memory->role) == 0) {
			return true;
		}
	}
	return false;
}

static void compare_memory(struct hk_compare *compare, const struct hk_report *from,
			   const struct hk_report *a, const struct hk_report *b)
{
	for (size_t i = 0; i < from->memory_count; i++) {
		const struct hk_report_memory *memory = &from->memory[i];
		if (strcmp(memory->library, "*") != 0 || memory_known(compare, memory)) {
			continue;
		}
		const struct hk_report_memory *in_a = highest(a, memory);
		const struct hk_report_memory *in_b = highest(b, memory);
		compare->memory[compare->memory_count++] = (struct hk_compare_memory){
		    memory->role,
		    memory->kind,
		    memory->device,
		    compared(in_a ? (double)in_a->peak_bytes : 0,
			     in_b ? (double)in_b->peak_bytes : 0, peak_interval(in_a),
			     peak_interval(in_b)),
		};
	}
}

static int by_memory(const void *a, const void *b)
{
	const struct hk_compare_memory *x = a, *y = b;
	int order = strcmp(y->role, x->role); /* main before launcher and helper */

	order = order ? order : strcmp(x->kind, y->kind);
	return order ? order : (x->device > y->device) - (x->device < y->device);
}

/* ---- the comparison ---- */

int hk_compare_init(struct hk_compare *compare, const struct hk_report *a,
		    const struct hk_report *b)
{
	struct side of_a = {0}, of_b = {0};
	int r = side_init(&of_a, a);

	r = r < 0 ? r : side_init(&of_b, b);
	*compare = (struct hk_compare){
	    .wall =
		compared((double)a->job.duration_ns, (double)b->job.duration_ns, unknown, unknown),
	    .rows = calloc(of_a.functions.count + of_b.functions.count + 1, sizeof(*compare->rows)),
	    .memory = calloc(a->memory_count + b->memory_count + 1, sizeof(*compare->memory)),
	};
	if (r == 0 && compare->rows && compare->memory) {
		compare_rows(compare, &of_a, &of_b);
		qsort(compare->rows, compare->row_count, sizeof(*compare->rows), by_difference);
		compare_memory(compare, a, a, b);
		compare_memory(compare, b, a, b);
		qsort(compare->memory, compare->memory_count, sizeof(*compare->memory), by_memory);
	} else {
		hk_compare_fini(compare);
		r = -ENOMEM;
	}
	side_fini(&of_a);
	side_fini(&of_b);
	return r;
}

void hk_compare_fini(struct hk_compare *compare)
{
	free(compare->rows);
	free(compare->memory);
	*compare = (struct hk_compare){0};
}
