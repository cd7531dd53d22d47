#include "cli/compare/measure/measure.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/measure/operand.h"
#include "cli/compare/shape.h"

/* ---- values that are no tensors ---- */

static bool is_same_number(const char *a, const char *b)
{
	char *a_end, *b_end;
	double x = strtod(a, &a_end), y = strtod(b, &b_end);

	return *a && *b && !*a_end && !*b_end && (x == y || (isnan(x) && isnan(y)));
}

/* A program in another precision asks for another dtype. */
static bool are_precisions(const char *a, const char *b)
{
	return hk_dtype_parse(a) >= HK_DTYPE_F16 && hk_dtype_parse(b) >= HK_DTYPE_F16;
}

static void scalar_measure(struct hk_match *match, const struct hk_dump_row *a,
			   const struct hk_dump_row *b)
{
	bool same = strcmp(a->scalar, b->scalar) == 0 || is_same_number(a->scalar, b->scalar);
	bool agrees = same || are_precisions(a->scalar, b->scalar);

	match->why = HK_WHY_SCALAR;
	match->level = same ? HK_MATCH_EQUAL : agrees ? HK_MATCH_AGREES : HK_MATCH_DIFFERS;
	match->error = agrees ? 0 : NAN;
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
			const struct hk_operand *a, const struct hk_operand *b)
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

/* The norm of B, or one that it does not exceed. */
static double norm_of(const struct hk_statistics *b, double root)
{
	return isnan(b->l2) ? root * fmax(fabs(b->max), fabs(b->min)) : b->l2;
}

/* A lower bound of |a - b| / |b|, from what the figures differ by. */
static double statistics_error(const struct hk_statistics *a, const struct hk_statistics *b)
{
	double root = sqrt((double)b->count), apart = 0, norm = norm_of(b, root);

	if (a->nans != b->nans || a->positive_infs != b->positive_infs ||
	    a->negative_infs != b->negative_infs) {
		return INFINITY;
	}
	apart = wider(apart, a->l2, b->l2, 1);
	apart = wider(apart, a->mean, b->mean, root);
	apart = wider(apart, a->deviation, b->deviation, root);
	apart = wider(apart, a->max, b->max, 1);
	apart = wider(apart, a->min, b->min, 1);
	return apart == 0 ? 0 : norm > 0 ? apart / norm : 1;
}

/* Leaves of NaN and Inf what a side that does not count them knows. */
static void counts_level(struct hk_statistics *statistics, bool nans)
{
	statistics->nans = statistics->nans > 0;
	statistics->positive_infs = !nans && statistics->positive_infs > 0;
	statistics->negative_infs = !nans && statistics->negative_infs > 0;
}

static void statistics_measure(const struct hk_rank_pair *pair, struct hk_match *match,
			       struct hk_operand *a, struct hk_operand *b)
{
	if (a->values->uncounted || b->values->uncounted) {
		bool nans = a->row.statistics.nans > 0;
		counts_level(&a->row.statistics, nans);
		counts_level(&b->row.statistics, nans);
	}

	if ((a->row.flags | b->row.flags) & HK_DUMP_NO_STATISTICS) {
		match->why = HK_WHY_DTYPE;
		match->level = HK_MATCH_UNKNOWN;
		return;
	}
	match->error = statistics_error(&a->row.statistics, &b->row.statistics);
	match_judge(pair, match, a, b);
}

/* ---- elements ---- */

static double elements_error(const struct hk_difference *difference, const struct hk_operand *b)
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
static int difference_take(const struct hk_operand *a, const struct hk_operand *b,
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
			   const struct hk_operand *a, const struct hk_operand *b)
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
			    const struct hk_operand *a, const struct hk_operand *b)
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
	match->other_bits |= difference->equal != difference->count;
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

/* Compares A and B, which are there. Returns 0 or -ENOMEM. */
static int operands_measure(struct hk_rank_pair *pair, struct hk_match *match, struct hk_operand *a,
			    struct hk_operand *b)
{
	if (a->row.scalar && b->row.scalar) {
		scalar_measure(match, &a->row, &b->row);
		return 0;
	}
	match->shape = hk_shape_relation(&a->row, &b->row, match->swapped);
	if (match->shape != HK_SHAPE_COUNT && (a->is_joined || b->is_joined)) {
		match->shape = HK_SHAPE_JOINED;
	}
	if (is_equal(match, &a->row, &b->row)) {
		match->level = HK_MATCH_EQUAL;
		match->error = 0;
		return 0;
	}
	match->other_bits = a->row.dtype != b->row.dtype ||
			    (a->row.statistics.digest != 0 && b->row.statistics.digest != 0);
	if (match->shape == HK_SHAPE_COUNT || !a->row.scalar != !b->row.scalar) {
		match->why = HK_WHY_COUNT;
		match->level = HK_MATCH_DIFFERS;
		return 0;
	}
	if (!hk_operands_read(a, b, match->shape == HK_SHAPE_TRANSPOSED)) {
		statistics_measure(pair, match, a, b);
		return 0;
	}
	/* The digest of other tools' elements is known now. */
	if (is_equal(match, &a->row, &b->row)) {
		match->level = HK_MATCH_EQUAL;
		match->error = 0;
		return 0;
	}
	return elements_measure(pair, match, a, b);
}

int hk_measure_match(struct hk_shards *shards, struct hk_rank_pair *pair, struct hk_match *match)
{
	struct hk_operand a, b;

	match->error = NAN;
	if (match->a == HK_MATCH_NONE || match->b == HK_MATCH_NONE) {
		return 0;
	}
	match->why = HK_WHY_NUMBERS;
	int r = hk_operand_init(&a, shards, HK_SIDE_A, pair->a, match->a);
	int of_b = hk_operand_init(&b, shards, HK_SIDE_B, pair->b, match->b);
	r = r ? r : of_b;
	if (r == -ENOENT || r == -EINVAL) {
		match->why = HK_WHY_SHARDS;
		match->level = HK_MATCH_UNKNOWN;
		r = 0;
	} else if (r == 0) {
		r = operands_measure(pair, match, &a, &b);
	}
	hk_operand_fini(&a);
	hk_operand_fini(&b);
	return r;
}
