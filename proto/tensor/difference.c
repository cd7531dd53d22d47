#include "tensor/difference.h"

#include <errno.h>
#include <stdbool.h>

#include "tensor/float_mode.h"
#include "tensor/pairs.h"
#include "tensor/real.h"
#include "tensor/walk.h"
#include "tensor/widen.h"

#define PIECE 512	/* elements that are compared at a time */
#define EPSILON 0x1p-52 /* norms up to it are none for ptdbg_ascend */
#define TURNS 4
#define LANES 16
#define DISTANCES 65 /* 0, up to 1, up to 2, up to 4, ... ULP */

struct comparison {
	double scale; /* elements are multiplied by it; a power of two */
	hk_widen *widen_a, *widen_b;
	hk_pairs_add *add;
	struct hk_rounding rounding;
	uint64_t explained; /* ULP that the rounding of the narrower dtype explains */
	uint64_t finite;    /* elements that are on both sides */
	uint64_t apart;	    /* elements that are not, on a side, and not equal */
	uint64_t within_dtype;
	/* In turns: a counter that was just raised has to be waited for. */
	uint64_t distances[TURNS][DISTANCES];
	struct hk_pair_sums sums;
	struct hk_difference *difference;
};

static bool are_finite(const double *x, size_t count)
{
	double zero[LANES] = {0};
	bool finite = true;
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		for (size_t k = 0; k < LANES; k++) {
			zero[k] += x[i + k] - x[i + k];
		}
	}
	for (; i < count; i++) {
		zero[0] += x[i] - x[i];
	}
	for (size_t k = 0; k < LANES; k++) {
		finite = finite && zero[k] == 0;
	}
	return finite;
}

/* Makes zeros of elements that are not finite on either side: pairs of equal ones. Those that are
 * not equal are counted, and counted out at the end. */
static void take_out_special(struct comparison *comparison, double *a, double *b, size_t count)
{
	struct hk_difference *difference = comparison->difference;

	for (size_t i = 0; i < count; i++) {
		if (hk_is_finite(a[i]) && hk_is_finite(b[i])) {
			continue;
		}
		bool equal = a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]);
		difference->only_a += !equal && !hk_is_finite(a[i]);
		difference->only_b += !equal && !hk_is_finite(b[i]);
		comparison->apart += !equal;
		comparison->finite--;
		a[i] = b[i] = 0;
	}
}

/* 0 for 0, otherwise one more than the exponent of the least power of two that is not less. */
static unsigned distance_octave(uint64_t distance)
{
	uint64_t less = distance - (distance != 0);
	unsigned bits = (unsigned)(less != 0) + 63 - (unsigned)__builtin_clzll(less | 1);

	return bits + (distance != 0);
}

static void add_distances(struct comparison *comparison, const uint64_t *distances, size_t count)
{
	struct hk_difference *difference = comparison->difference;
	uint64_t most = difference->max_ulp;

	for (size_t i = 0; i < count; i++) {
		comparison->within_dtype += distances[i] <= comparison->explained;
		most = distances[i] > most ? distances[i] : most;
	}
	for (size_t i = 0; i < count; i++) {
		comparison->distances[i % TURNS][distance_octave(distances[i])]++;
	}
	difference->max_ulp = most;
}

/* Where the largest difference is, if it is in this piece. */
static void find_largest(struct comparison *comparison, const double *a, const double *b,
			 size_t count, uint64_t at)
{
	struct hk_difference *difference = comparison->difference;

	if (comparison->sums.max_abs <= difference->max_abs) {
		return;
	}
	difference->max_abs = comparison->sums.max_abs;
	for (size_t i = 0; i < count; i++) {
		if (hk_absolute(a[i] - b[i]) == difference->max_abs) {
			difference->max_abs_at = at + i;
			return;
		}
	}
}

static void add_piece(struct comparison *comparison, double *a, double *b, size_t count,
		      uint64_t at)
{
	size_t whole = count - count % HK_PAIR_LANES;
	uint64_t distances[PIECE];

	comparison->finite += count;
	if (!are_finite(a, count) || !are_finite(b, count)) {
		take_out_special(comparison, a, b, count);
	}
	comparison->add(a, b, whole, comparison->rounding, &comparison->sums, distances);
	hk_pairs_add_plain(a + whole, b + whole, count - whole, comparison->rounding,
			   &comparison->sums, distances + whole);
	add_distances(comparison, distances, count);
	find_largest(comparison, a, b, count, at);
}

static double total(const double lanes[HK_PAIR_LANES])
{
	return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

static double cosine_of(double dot, double norm_a, double norm_b, double none)
{
	if (norm_a <= none && norm_b <= none) {
		return 1;
	}
	if (norm_a <= none || norm_b <= none) {
		return __builtin_nan("");
	}
	double cosine = dot / norm_a / norm_b;
	return cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
}

static uint64_t median_bound(const struct comparison *comparison, uint64_t count)
{
	uint64_t below = 0;

	for (unsigned octave = 0; octave < DISTANCES; octave++) {
		for (unsigned turn = 0; turn < TURNS; turn++) {
			below += comparison->distances[turn][octave];
		}
		if (below >= count - count / 2) {
			return octave ? 1ull << (octave - 1) : 0;
		}
	}
	return 0;
}

static double share(uint64_t part, uint64_t count)
{
	return count ? (double)part / (double)count : 1;
}

static void conclude_norms(const struct comparison *comparison)
{
	const struct hk_pair_sums *sums = &comparison->sums;
	struct hk_difference *difference = comparison->difference;
	double norm_a = __builtin_sqrt(total(sums->squares_a));
	double norm_b = __builtin_sqrt(total(sums->squares_b));
	double dot = total(sums->dot), finite = (double)comparison->finite;
	double none = EPSILON * comparison->scale;

	difference->cosine = cosine_of(dot, norm_a, norm_b, 0);
	difference->cosine_half = 0.5 + 0.5 * cosine_of(dot, norm_a, norm_b, none);
	if (difference->count == 1) {
		difference->cosine_half = 1;
	}
	difference->euclidean = __builtin_sqrt(total(sums->squares)) / comparison->scale;
	difference->rmse = finite > 0 ? difference->euclidean / __builtin_sqrt(finite) : 0;
}

static void conclude(struct comparison *comparison)
{
	const struct hk_pair_sums *sums = &comparison->sums;
	struct hk_difference *difference = comparison->difference;
	uint64_t count = difference->count, apart = comparison->apart;

	difference->max_rel = sums->max_rel;
	difference->mape = 100 * total(sums->relative) / (double)sums->relatives;
	if (!sums->relatives) {
		difference->mape = difference->max_rel = __builtin_nan("");
	}
	comparison->distances[0][0] -= apart;
	difference->equal = sums->equal - apart;
	difference->within_1000 = share(sums->within_1000 - apart, count);
	difference->within_5000 = share(sums->within_5000 - apart, count);
	difference->within_dtype = share(comparison->within_dtype - apart, count);
	difference->median_ulp_bound = median_bound(comparison, count - apart);
}

static void scale_by(double *x, size_t count, double scale)
{
	for (size_t i = 0; i < count; i++) {
		x[i] *= scale;
	}
}

static void add_all(struct comparison *comparison, struct hk_walk *a, struct hk_walk *b)
{
	uint8_t buffer[PIECE * sizeof(double)];
	double of_a[PIECE], of_b[PIECE];
	uint64_t at = 0;
	size_t count;

	while (a->left) {
		const void *piece = hk_walk_next(a, buffer, PIECE, &count);
		comparison->widen_a(piece, count, of_a);
		piece = hk_walk_next(b, buffer, PIECE, &count);
		comparison->widen_b(piece, count, of_b);
		if (comparison->scale != 1) {
			scale_by(of_a, count, comparison->scale);
			scale_by(of_b, count, comparison->scale);
		}
		add_piece(comparison, of_a, of_b, count, at);
		at += count;
	}
}

static hk_pairs_add *best_add(struct hk_rounding rounding)
{
#ifdef __x86_64__
	if (rounding.digits && hk_pairs_avx2_usable()) {
		return hk_pairs_add_avx2;
	}
#endif
	(void)rounding;
	return hk_pairs_add_plain;
}

/* Compares with the elements multiplied by SCALE, with the loops ADD or, if NULL, the best ones. */
static int compare(const struct hk_tensor *a, const struct hk_tensor *b, hk_pairs_add *add,
		   double scale, struct comparison *comparison, struct hk_difference *difference)
{
	struct hk_walk walk_a, walk_b;

	/* Walks have nothing to release before their first step. */
	if (hk_walk_start(&walk_a, a) || hk_walk_start(&walk_b, b) || walk_a.left != walk_b.left) {
		return -EINVAL;
	}
	struct hk_rounding rounding = hk_rounding_of(hk_rounding_narrower(a->dtype, b->dtype));
	*comparison = (struct comparison){
	    .scale = scale,
	    .widen_a = hk_widen_function(hk_kernels_best(), a->dtype),
	    .widen_b = hk_widen_function(hk_kernels_best(), b->dtype),
	    .add = add ? add : best_add(rounding),
	    .rounding = rounding,
	    .explained = rounding.digits && a->dtype == b->dtype,
	    .difference = difference,
	};
	*difference = (struct hk_difference){.count = walk_a.left};
	add_all(comparison, &walk_a, &walk_b);
	hk_walk_end(&walk_a);
	hk_walk_end(&walk_b);
	return 0;
}

/* The largest absolute value of a tensor, 0 without one. */
static double largest(const struct hk_tensor *tensor)
{
	struct hk_statistics statistics;

	if (hk_statistics_take(tensor, &statistics) || !(statistics.min <= statistics.max)) {
		return 0;
	}
	return statistics.max > -statistics.min ? statistics.max : -statistics.min;
}

/* Once more, scaled, where doubles have no room for the squares; for the norms alone. */
static void conclude_scaled_norms(const struct comparison *first, const struct hk_tensor *a,
				  const struct hk_tensor *b)
{
	double of_a = largest(a), of_b = largest(b), most = of_a > of_b ? of_a : of_b;
	struct hk_difference *difference = first->difference, norms;
	struct comparison scaled;

	if (most == 0 || compare(a, b, first->add, hk_scale_of(most), &scaled, &norms)) {
		conclude_norms(first);
		return;
	}
	conclude_norms(&scaled);
	difference->cosine = norms.cosine;
	difference->cosine_half = norms.cosine_half;
	difference->euclidean = norms.euclidean;
	difference->rmse = norms.rmse;
}

/* Only squares of 64-bit numbers may have no room. */
static bool has_room(const struct comparison *comparison, enum hk_dtype a, enum hk_dtype b)
{
	const struct hk_pair_sums *sums = &comparison->sums;

	return (a != HK_DTYPE_F64 && b != HK_DTYPE_F64) ||
	       (hk_squares_are_exact(total(sums->squares_a)) &&
		hk_squares_are_exact(total(sums->squares_b)) && hk_is_finite(total(sums->squares)));
}

static int take(const struct hk_tensor *a, const struct hk_tensor *b, hk_pairs_add *add,
		struct hk_difference *difference)
{
	struct comparison comparison;
	uint64_t mode = hk_float_mode_enter();
	int error = compare(a, b, add, 1, &comparison, difference);

	if (!error) {
		if (has_room(&comparison, a->dtype, b->dtype)) {
			conclude_norms(&comparison);
		} else {
			conclude_scaled_norms(&comparison, a, b);
		}
		conclude(&comparison);
	}
	hk_float_mode_leave(mode);
	return error;
}

int hk_difference_take(const struct hk_tensor *a, const struct hk_tensor *b,
		       struct hk_difference *difference)
{
	return take(a, b, NULL, difference);
}

int hk_difference_take_plain(const struct hk_tensor *a, const struct hk_tensor *b,
			     struct hk_difference *difference)
{
	return take(a, b, hk_pairs_add_plain, difference);
}
