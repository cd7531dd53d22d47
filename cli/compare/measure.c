#include "cli/compare/measure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/sample.h"
#include "cli/compare/shape.h"

/* One side of a match. */
struct operand {
	struct hk_dump_row row;
	const void *elements; /* NULL: statistics only */
	struct hk_tensor tensor;
	uint64_t sample_count; /* the shape of a sample */
	void *sample;	       /* malloc'd, or NULL */
};

static void operand_take(struct operand *operand, struct hk_values *values, uint32_t index)
{
	values->ops->row(values, index, &operand->row);
	operand->elements = NULL;
	operand->sample = NULL;
	operand->tensor = (struct hk_tensor){.dtype = operand->row.dtype,
					     .dimensions = operand->row.dimensions,
					     .shape = operand->row.shape};
}

/* A tool may store elements alone; some figures of others are known once they are read. */
static void statistics_fill(struct operand *operand, const struct hk_values *values, uint32_t index)
{
	values->ops->row(values, index, &operand->row);
	if (operand->row.flags & HK_DUMP_NO_STATISTICS) {
		(void)hk_statistics_take(&operand->tensor, &operand->row.statistics);
	}
}

static bool is_sampled(const struct hk_values *values, uint32_t index, struct hk_sampling *sampling)
{
	return values->ops->sampling && values->ops->sampling(values, index, sampling);
}

/* Makes a tensor of one dimension of the sample of OPERAND, which has all elements unless SAMPLED.
 * Returns false without memory. */
static bool sample_take(struct operand *operand, const struct hk_sampling *sampling, bool sampled)
{
	uint64_t count = operand->row.statistics.count;
	size_t size = hk_dtype_bytes(operand->row.dtype), bytes;

	operand->sample_count = hk_sample_count(sampling, count);
	if (!sampled) {
		if (__builtin_mul_overflow(operand->sample_count, size, &bytes) ||
		    !(operand->sample = malloc(bytes + 1))) {
			return false;
		}
		hk_sample_take(sampling, operand->elements, count, size, operand->sample);
		operand->tensor.data = operand->sample;
	}
	operand->tensor.shape = &operand->sample_count;
	operand->tensor.dimensions = 1;
	return true;
}

/* Where a tool kept a sample, the same elements of the other side are compared. */
static bool samples_take(const struct hk_rank_pair *pair, const struct hk_match *match,
			 struct operand *a, struct operand *b)
{
	struct hk_sampling of_a = {.step = 0}, of_b = {.step = 0};
	bool a_sampled = is_sampled(pair->a, match->a, &of_a),
	     b_sampled = is_sampled(pair->b, match->b, &of_b);

	if (!a_sampled && !b_sampled) {
		return true;
	}
	if (match->shape == HK_SHAPE_TRANSPOSED ||
	    (a_sampled && b_sampled && (of_a.edge != of_b.edge || of_a.step != of_b.step))) {
		return false;
	}
	const struct hk_sampling *sampling = a_sampled ? &of_a : &of_b;
	return sample_take(a, sampling, a_sampled) && sample_take(b, sampling, b_sampled);
}

/* Reads the elements of both sides. Returns whether they are there. */
static bool elements_read(struct hk_rank_pair *pair, const struct hk_match *match,
			  struct operand *a, struct operand *b)
{
	const char *reason;

	if (!a->row.has_payload || !b->row.has_payload) {
		return false;
	}
	a->elements = pair->a->ops->elements(pair->a, match->a, &reason);
	b->elements = a->elements ? pair->b->ops->elements(pair->b, match->b, &reason) : NULL;
	a->tensor.data = a->elements;
	b->tensor.data = b->elements;
	if (!a->elements || !b->elements) {
		return false;
	}
	statistics_fill(a, pair->a, match->a);
	statistics_fill(b, pair->b, match->b);
	return samples_take(pair, match, a, b);
}

/* ---- values that are no tensors ---- */

static bool is_same_number(const char *a, const char *b)
{
	char *a_end, *b_end;
	double x = strtod(a, &a_end), y = strtod(b, &b_end);

	return *a && *b && !*a_end && !*b_end && (x == y || (isnan(x) && isnan(y)));
}

static void scalar_measure(struct hk_match *match, const struct hk_dump_row *a,
			   const struct hk_dump_row *b)
{
	bool same = strcmp(a->scalar, b->scalar) == 0 || is_same_number(a->scalar, b->scalar);

	match->why = HK_WHY_SCALAR;
	match->level = same ? HK_MATCH_EQUAL : HK_MATCH_DIFFERS;
	match->error = same ? 0 : NAN;
}

/* ---- verdicts ---- */

enum hk_verdict hk_measure_verdict(const struct hk_rank_pair *pair, const struct hk_match *match,
				   const struct hk_dump_row *a, const struct hk_dump_row *b,
				   const struct hk_difference *difference,
				   char reason[HK_VERDICT_ROOM])
{
	const struct hk_tolerance tolerance =
	    hk_tolerance_of(a->dtype, b->dtype, pair->least, pair->factor);
	const struct hk_verdict_side of_a = {a->dtype, a->dimensions, a->shape, &a->statistics};
	struct hk_verdict_side of_b = {b->dtype, b->dimensions, b->shape, &b->statistics};

	/* Elements were compared in A's order. */
	if (match->shape != HK_SHAPE_SAME && match->shape != HK_SHAPE_COUNT) {
		of_b.dimensions = a->dimensions;
		of_b.shape = a->shape;
	}
	return hk_verdict_take(&of_a, &of_b, difference, &tolerance, reason);
}

static enum hk_match_level level_of(enum hk_verdict verdict)
{
	return verdict == HK_VERDICT_AGREES    ? HK_MATCH_AGREES
	       : verdict == HK_VERDICT_DIFFERS ? HK_MATCH_DIFFERS
					       : HK_MATCH_UNKNOWN;
}

static void match_judge(const struct hk_rank_pair *pair, struct hk_match *match,
			const struct operand *a, const struct operand *b)
{
	char reason[HK_VERDICT_ROOM];

	match->level =
	    level_of(hk_measure_verdict(pair, match, &a->row, &b->row, match->difference, reason));
}

/* ---- statistics ---- */

/* The larger of ERROR and of X and Y's difference, unless one of them is not known. */
static double wider(double error, double x, double y, double factor)
{
	double apart = factor * fabs(x - y);

	return apart > error ? apart : error;
}

/* Whether NaN or Inf are there in other numbers, or UNCOUNTED, on one side only. */
static bool is_unlike(uint64_t a, uint64_t b, bool uncounted)
{
	return uncounted ? !a != !b : a != b;
}

/* The norm of B, or one that it does not exceed. */
static double norm_of(const struct hk_statistics *b, double root)
{
	return isnan(b->l2) ? root * fmax(fabs(b->max), fabs(b->min)) : b->l2;
}

/* A lower bound of |a - b| / |b|, from what the figures differ by. */
static double statistics_error(const struct hk_statistics *a, const struct hk_statistics *b,
			       bool uncounted)
{
	double root = sqrt((double)b->count), apart = 0, norm = norm_of(b, root);
	bool infs_known = !uncounted || a->nans == 0;

	if (is_unlike(a->nans, b->nans, uncounted) ||
	    (infs_known && (is_unlike(a->positive_infs, b->positive_infs, uncounted) ||
			    is_unlike(a->negative_infs, b->negative_infs, uncounted)))) {
		return INFINITY;
	}
	apart = wider(apart, a->l2, b->l2, 1);
	apart = wider(apart, a->mean, b->mean, root);
	apart = wider(apart, a->deviation, b->deviation, root);
	apart = wider(apart, a->max, b->max, 1);
	apart = wider(apart, a->min, b->min, 1);
	return apart == 0 ? 0 : norm > 0 ? apart / norm : 1;
}

static void statistics_measure(const struct hk_rank_pair *pair, struct hk_match *match,
			       const struct operand *a, const struct operand *b)
{
	if ((a->row.flags | b->row.flags) & HK_DUMP_NO_STATISTICS) {
		match->why = HK_WHY_DTYPE;
		match->level = HK_MATCH_UNKNOWN;
		return;
	}
	match->error = statistics_error(&a->row.statistics, &b->row.statistics,
					pair->a->uncounted || pair->b->uncounted);
	match_judge(pair, match, a, b);
}

/* ---- elements ---- */

static double elements_error(const struct hk_difference *difference, const struct operand *b)
{
	if (difference->only_a || difference->only_b) {
		return INFINITY;
	}
	if (difference->euclidean == 0) {
		return 0;
	}
	return b->row.statistics.l2 > 0 ? difference->euclidean / b->row.statistics.l2 : 1;
}

/* Compares A with B, the dimensions SWAPPED of B exchanged if not NULL. */
static int difference_take(const struct operand *a, const struct operand *b,
			   const uint8_t swapped[2], struct hk_difference *difference)
{
	uint64_t shape[HK_TENSOR_DIMENSIONS];
	int64_t strides[HK_TENSOR_DIMENSIONS];
	struct hk_tensor tensor = b->tensor;

	if (swapped) {
		hk_shape_exchange(&b->row, swapped, shape, strides);
		tensor.shape = shape;
		tensor.strides = strides;
	}
	return hk_difference_take(&a->tensor, &tensor, difference);
}

/* A square matrix that was transposed by mistake has the right shape. */
static void transposed_try(const struct hk_rank_pair *pair, struct hk_match *match,
			   const struct operand *a, const struct operand *b)
{
	struct hk_difference difference;
	char reason[HK_VERDICT_ROOM];
	uint8_t swapped[2];

	if (match->shape == HK_SHAPE_SAME && hk_shape_square(&b->row, swapped) &&
	    difference_take(a, b, swapped, &difference) == 0 &&
	    hk_measure_verdict(pair, match, &a->row, &b->row, &difference, reason) ==
		HK_VERDICT_AGREES) {
		match->transposed = true;
		memcpy(match->swapped, swapped, sizeof(match->swapped));
	}
}

static int elements_measure(const struct hk_rank_pair *pair, struct hk_match *match,
			    const struct operand *a, const struct operand *b)
{
	struct hk_difference *difference = malloc(sizeof(*difference));

	if (!difference) {
		return -ENOMEM;
	}
	if (difference_take(a, b, match->shape == HK_SHAPE_TRANSPOSED ? match->swapped : NULL,
			    difference) < 0) {
		free(difference);
		match->why = HK_WHY_DTYPE;
		match->level = HK_MATCH_UNKNOWN;
		return 0;
	}
	match->difference = difference;
	match->error = elements_error(difference, b);
	match_judge(pair, match, a, b);
	if (match->shape == HK_SHAPE_TRANSPOSED && a->row.dtype == b->row.dtype &&
	    difference->equal == difference->count) {
		match->level = HK_MATCH_EQUAL;
	}
	if (match->level == HK_MATCH_DIFFERS) {
		transposed_try(pair, match, a, b);
	}
	return 0;
}

/* ---- a match ---- */

static bool is_equal(const struct hk_match *match, const struct hk_dump_row *a,
		     const struct hk_dump_row *b)
{
	return match->shape != HK_SHAPE_TRANSPOSED && match->shape != HK_SHAPE_COUNT &&
	       a->dtype == b->dtype && a->statistics.digest != 0 &&
	       a->statistics.digest == b->statistics.digest;
}

int hk_measure_match(struct hk_rank_pair *pair, struct hk_match *match)
{
	struct operand a, b;

	match->error = NAN;
	if (match->a == HK_MATCH_NONE || match->b == HK_MATCH_NONE) {
		return 0;
	}
	operand_take(&a, pair->a, match->a);
	operand_take(&b, pair->b, match->b);
	match->why = HK_WHY_NUMBERS;
	if (a.row.scalar && b.row.scalar) {
		scalar_measure(match, &a.row, &b.row);
		return 0;
	}
	match->shape = hk_shape_relation(&a.row, &b.row, match->swapped);
	if (is_equal(match, &a.row, &b.row)) {
		match->level = HK_MATCH_EQUAL;
		match->error = 0;
		return 0;
	}
	if (match->shape == HK_SHAPE_COUNT || !a.row.scalar != !b.row.scalar) {
		match->why = HK_WHY_COUNT;
		match->level = HK_MATCH_DIFFERS;
		return 0;
	}
	bool read = elements_read(pair, match, &a, &b);
	int r = 0;
	if (read && is_equal(match, &a.row, &b.row)) {
		match->level = HK_MATCH_EQUAL;
		match->error = 0;
	} else if (read) {
		r = elements_measure(pair, match, &a, &b);
	} else {
		statistics_measure(pair, match, &a, &b);
	}
	free(a.sample);
	free(b.sample);
	return r;
}
