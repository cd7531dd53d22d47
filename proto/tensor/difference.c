#include "tensor/difference.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "tensor/float_mode.h"
#include "tensor/rounding.h"
#include "tensor/walk.h"
#include "tensor/widen.h"

#define PIECE 512	/* elements that are compared at a time */
#define EPSILON 0x1p-52 /* norms up to it are none for ptdbg_ascend */
#define DISTANCES 65	/* 0, up to 1, up to 2, up to 4, ... ULP */

struct comparison {
	struct hk_rounding rounding;
	uint64_t explained; /* ULP that the rounding of the narrower dtype explains */
	uint64_t apart;	    /* elements that are not finite on a side, and not equal */
	uint64_t relatives, within_1000, within_5000, within_dtype;
	double dot, squares_a, squares_b, squares, relative;
	uint64_t distances[DISTANCES];
	struct hk_difference *difference;
};

static bool is_finite(double x)
{
	return x - x == 0;
}

static double absolute(double x)
{
	return x < 0 ? -x : x;
}

/* Elements that are not finite agree or are counted; they take no part in the rest. */
static void add_special(struct comparison *comparison, double a, double b)
{
	struct hk_difference *difference = comparison->difference;

	if (a == b || (a != a && b != b)) {
		difference->equal++;
		comparison->within_1000++;
		comparison->within_5000++;
		comparison->within_dtype++;
		comparison->distances[0]++;
		return;
	}
	difference->only_a += !is_finite(a);
	difference->only_b += !is_finite(b);
	comparison->apart++;
}

static void add_relative(struct comparison *comparison, double apart, double b)
{
	struct hk_difference *difference = comparison->difference;

	if (b == 0) {
		comparison->within_1000 += apart == 0;
		comparison->within_5000 += apart == 0;
		return;
	}
	double relative = apart / absolute(b);
	comparison->relatives++;
	comparison->relative += relative;
	comparison->within_1000 += relative < 1.0 / 1000;
	comparison->within_5000 += relative < 5.0 / 1000;
	difference->max_rel = relative > difference->max_rel ? relative : difference->max_rel;
}

/* 0 for 0, otherwise the power of two that DISTANCE does not exceed, plus one. */
static unsigned distance_octave(uint64_t distance)
{
	if (distance < 2) {
		return (unsigned)distance;
	}
	return 65 - (unsigned)__builtin_clzll(distance - 1);
}

static void add_distance(struct comparison *comparison, double a, double b)
{
	int64_t of_a = hk_rounding_number(comparison->rounding, a);
	int64_t of_b = hk_rounding_number(comparison->rounding, b);
	uint64_t distance =
	    of_a > of_b ? (uint64_t)of_a - (uint64_t)of_b : (uint64_t)of_b - (uint64_t)of_a;
	struct hk_difference *difference = comparison->difference;
	unsigned octave = distance_octave(distance);

	comparison->distances[octave < DISTANCES ? octave : DISTANCES - 1]++;
	comparison->within_dtype += distance <= comparison->explained;
	difference->max_ulp = distance > difference->max_ulp ? distance : difference->max_ulp;
}

static void add_pair(struct comparison *comparison, double a, double b, uint64_t at)
{
	struct hk_difference *difference = comparison->difference;

	if (!is_finite(a) || !is_finite(b)) {
		add_special(comparison, a, b);
		return;
	}
	double apart = absolute(a - b);
	difference->equal += a == b;
	comparison->dot += a * b;
	comparison->squares_a += a * a;
	comparison->squares_b += b * b;
	comparison->squares += apart * apart;
	if (apart > difference->max_abs) {
		difference->max_abs = apart;
		difference->max_abs_at = at;
	}
	add_relative(comparison, apart, b);
	add_distance(comparison, a, b);
}

static double cosine_of(const struct comparison *comparison, double norm_a, double norm_b,
			double none)
{
	if (norm_a <= none && norm_b <= none) {
		return 1;
	}
	if (norm_a <= none || norm_b <= none) {
		return __builtin_nan("");
	}
	double cosine = comparison->dot / norm_a / norm_b;
	return cosine > 1 ? 1 : cosine < -1 ? -1 : cosine;
}

static uint64_t median_bound(const struct comparison *comparison, uint64_t count)
{
	uint64_t below = 0;

	for (unsigned octave = 0; octave < DISTANCES; octave++) {
		below += comparison->distances[octave];
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

static void conclude(const struct comparison *comparison)
{
	struct hk_difference *difference = comparison->difference;
	uint64_t count = difference->count, taken = count - comparison->apart;
	double norm_a = __builtin_sqrt(comparison->squares_a);
	double norm_b = __builtin_sqrt(comparison->squares_b);

	difference->cosine = cosine_of(comparison, norm_a, norm_b, 0);
	difference->cosine_half =
	    count == 1 ? 1 : 0.5 + 0.5 * cosine_of(comparison, norm_a, norm_b, EPSILON);
	difference->euclidean = __builtin_sqrt(comparison->squares);
	difference->rmse = taken ? __builtin_sqrt(comparison->squares / (double)taken) : 0;
	difference->mape = 100 * comparison->relative / (double)comparison->relatives;
	if (!comparison->relatives) {
		difference->mape = difference->max_rel = __builtin_nan("");
	}
	difference->within_1000 = share(comparison->within_1000, count);
	difference->within_5000 = share(comparison->within_5000, count);
	difference->within_dtype = share(comparison->within_dtype, count);
	difference->median_ulp_bound = median_bound(comparison, taken);
}

static void add_all(struct comparison *comparison, struct hk_walk *a, struct hk_walk *b,
		    enum hk_dtype dtype_a, enum hk_dtype dtype_b)
{
	uint8_t buffer[PIECE * sizeof(double)];
	double of_a[PIECE], of_b[PIECE];
	uint64_t at = 0;
	size_t count;

	while (a->left) {
		const void *piece = hk_walk_next(a, buffer, PIECE, &count);
		hk_widen(dtype_a, piece, count, of_a);
		piece = hk_walk_next(b, buffer, PIECE, &count);
		hk_widen(dtype_b, piece, count, of_b);
		for (size_t i = 0; i < count; i++) {
			add_pair(comparison, of_a[i], of_b[i], at + i);
		}
		at += count;
	}
}

int hk_difference_take(const struct hk_tensor *a, const struct hk_tensor *b,
		       struct hk_difference *difference)
{
	struct hk_walk walk_a, walk_b;

	if (hk_walk_start(&walk_a, a) || hk_walk_start(&walk_b, b) || walk_a.left != walk_b.left) {
		return -EINVAL;
	}
	enum hk_dtype narrower = hk_rounding_narrower(a->dtype, b->dtype);
	struct comparison comparison = {.rounding = hk_rounding_of(narrower),
					.difference = difference};
	bool rounds = comparison.rounding.digits != 0;
	comparison.explained = rounds && a->dtype == b->dtype;
	uint64_t mode = hk_float_mode_enter();
	*difference = (struct hk_difference){.count = walk_a.left};
	add_all(&comparison, &walk_a, &walk_b, a->dtype, b->dtype);
	conclude(&comparison);
	hk_float_mode_leave(mode);
	return 0;
}
