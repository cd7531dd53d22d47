#include "tensor/statistics.h"

#include <errno.h>
#include <stdbool.h>

#include "tensor/digest.h"
#include "tensor/float_mode.h"
#include "tensor/moments.h"
#include "tensor/walk.h"
#include "tensor/widen.h"

#define PIECE 1024 /* elements that are widened at a time */
/* Where the sum of squares exceeds what is wanted, the squared differences from the mean, by more,
 * its rounding errors would show: the block is summed once more, around its mean. */
#define ILL_CONDITIONED 0x1p-16
/* Squares of doubles below lose digits. */
#define SQUARES_LEAST 0x1p-900

struct taking {
	const struct hk_kernels *kernels;
	enum hk_dtype dtype;
	size_t size;
	double scale; /* elements are multiplied by it; a power of two */
	struct hk_moments moments;
	struct hk_digest digest;
	struct hk_statistics *statistics;
};

static bool is_finite(double x)
{
	return x - x == 0;
}

/* Keeps the finite ones of COUNT elements, scaled, then moved by -SHIFT, and returns how many. */
static size_t keep_finite(const struct taking *taking, double *x, size_t count, double shift)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		double value = x[i];
		x[kept] = value * taking->scale - shift;
		kept += is_finite(value);
	}
	return kept;
}

static void count_special(struct hk_statistics *statistics, const double *x, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		statistics->nans += x[i] != x[i];
		statistics->positive_infs += x[i] == __builtin_inf();
		statistics->negative_infs += x[i] == -__builtin_inf();
	}
}

static void sum_doubles(const struct taking *taking, const double *x, size_t count,
			struct hk_sums *sums)
{
	size_t groups = count / HK_LANES;

	taking->kernels->sum_f64(x, groups, sums);
	hk_sums_add_rest(sums, x + groups * HK_LANES, count % HK_LANES);
}

/* The slow way: any dtype, with or without numbers that are not finite, which it counts if COUNTS,
 * around SHIFT. Returns the number of finite elements. */
static size_t sum_finite(struct taking *taking, const uint8_t *block, size_t count, double shift,
			 bool counts, struct hk_sums *sums)
{
	double x[PIECE];
	size_t finite = 0;

	hk_sums_start(sums);
	for (size_t part; count; count -= part, block += part * taking->size) {
		part = count < PIECE ? count : PIECE;
		hk_widen(taking->dtype, block, part, x);
		if (counts) {
			count_special(taking->statistics, x, part);
		}
		size_t kept = keep_finite(taking, x, part, shift);
		sum_doubles(taking, x, kept, sums);
		finite += kept;
	}
	return finite;
}

static hk_take *take_function(const struct hk_kernels *kernels, enum hk_dtype dtype)
{
	switch (dtype) {
	case HK_DTYPE_F16:
		return kernels->take_f16;
	case HK_DTYPE_BF16:
		return kernels->take_bf16;
	case HK_DTYPE_F32:
		return kernels->take_f32;
	case HK_DTYPE_F64:
		return kernels->take_f64;
	default:
		return NULL;
	}
}

static void sum_widened(const struct taking *taking, const uint8_t *block, size_t count,
			struct hk_sums *sums)
{
	double x[PIECE];

	for (size_t part; count; count -= part, block += part * taking->size) {
		part = count < PIECE ? count : PIECE;
		hk_widen(taking->dtype, block, part, x);
		sum_doubles(taking, x, part, sums);
	}
}

/* The fast way, whose sums are not finite if an element is not; with the block's digest. */
static void take_block(const struct taking *taking, const uint8_t *block, size_t count,
		       struct hk_sums *sums, struct hk_digest_lanes *lanes)
{
	hk_take *take = take_function(taking->kernels, taking->dtype);
	size_t bytes = count * taking->size, chunks = bytes / HK_CHUNK;
	size_t rest = bytes % HK_CHUNK;

	hk_sums_start(sums);
	if (take) {
		take(block, chunks, sums, lanes);
		sum_widened(taking, block + bytes - rest, rest / taking->size, sums);
	} else {
		taking->kernels->digest(block, 0, chunks * (HK_CHUNK / HK_STRIPE), lanes);
		sum_widened(taking, block, count, sums);
	}
	if (rest) {
		hk_digest_add_rest(lanes, taking->kernels, chunks, block + bytes - rest, rest);
	}
}

/* Sum of squared differences from the mean, by way of the sum of squares. */
static double squares_apart(double count, double sum, double squares)
{
	double apart = squares - sum * (sum / count);

	return apart > 0 ? apart : 0;
}

/* Adds COUNT finite elements whose sums around 0 are SUMS. */
static void add_sums(struct taking *taking, const uint8_t *block, size_t count, size_t finite,
		     const struct hk_sums *sums)
{
	struct hk_block_moments one = {
	    .count = (double)finite,
	    .sum = hk_sums_total(sums->sum),
	    .squares = hk_sums_total(sums->squares),
	};
	one.apart = squares_apart(one.count, one.sum, one.squares);
	if (sums->min == sums->max) {
		one.apart = 0;
	} else if (one.apart < one.squares * ILL_CONDITIONED) {
		struct hk_sums around;
		sum_finite(taking, block, count, one.sum / one.count, false, &around);
		one.apart = squares_apart(one.count, hk_sums_total(around.sum),
					  hk_sums_total(around.squares));
	}
	hk_moments_add(&taking->moments, &one);
}

static void add_block(struct taking *taking, const uint8_t *block, size_t count)
{
	struct hk_statistics *statistics = taking->statistics;
	struct hk_digest_lanes lanes = {0};
	struct hk_sums sums;
	size_t finite = count;

	take_block(taking, block, count, &sums, &lanes);
	hk_digest_add(&taking->digest, &lanes);
	if (!is_finite(hk_sums_total(sums.squares))) {
		finite = sum_finite(taking, block, count, 0, true, &sums);
	}
	add_sums(taking, block, count, finite, &sums);
	statistics->min = sums.min < statistics->min ? sums.min : statistics->min;
	statistics->max = sums.max > statistics->max ? sums.max : statistics->max;
	statistics->zeros += sums.zeros;
}

/* Again, for the moments alone: scaled. */
static void add_scaled_block(struct taking *taking, const uint8_t *block, size_t count)
{
	struct hk_sums sums;
	size_t finite = sum_finite(taking, block, count, 0, false, &sums);

	add_sums(taking, block, count, finite, &sums);
}

static int add_blocks(struct taking *taking, const struct hk_tensor *tensor,
		      void (*add)(struct taking *, const uint8_t *, size_t))
{
	uint8_t buffer[HK_BLOCK_BYTES];
	struct hk_walk walk;
	size_t count;
	int error = hk_walk_start(&walk, tensor);

	if (error) {
		return error;
	}
	taking->size = walk.size;
	taking->statistics->count = walk.left;
	hk_moments_start(&taking->moments);
	while (walk.left) {
		const void *block = hk_walk_next(&walk, buffer, HK_BLOCK_BYTES / walk.size, &count);
		add(taking, block, count);
	}
	return 0;
}

static void conclude(struct taking *taking)
{
	struct hk_statistics *statistics = taking->statistics;
	const struct hk_moments *moments = &taking->moments;
	double nan = __builtin_nan("");

	if (moments->count == 0) {
		statistics->min = statistics->max = statistics->mean = statistics->deviation = nan;
		statistics->l2 = 0;
		return;
	}
	/* Zeros have no sign here: which one is less depends on the order. */
	statistics->min += 0.0;
	statistics->max += 0.0;
	statistics->mean = hk_moments_mean(moments) / taking->scale;
	statistics->l2 = __builtin_sqrt(hk_moments_squares(moments)) / taking->scale;
	statistics->deviation = __builtin_sqrt(moments->apart / moments->count) / taking->scale;
}

/* The power of two that brings the largest absolute value near 1; 1 where squares are no problem.
 */
static double needed_scale(const struct taking *taking)
{
	const struct hk_moments *moments = &taking->moments;
	double squares = hk_moments_squares(moments), scale = 1;
	double min = taking->statistics->min, max = taking->statistics->max;
	double most = max > -min ? max : -min;

	if (taking->dtype != HK_DTYPE_F64 || moments->count == 0 || most == 0 ||
	    (is_finite(squares) && squares >= SQUARES_LEAST)) {
		return 1;
	}
	while (most * scale > 1) {
		scale *= 0.5;
	}
	while (most * scale < 0.5 && scale < 0x1p1022) {
		scale *= 2;
	}
	return scale;
}

int hk_statistics_take_with(const struct hk_kernels *kernels, const struct hk_tensor *tensor,
			    struct hk_statistics *statistics)
{
	struct taking taking = {
	    .kernels = kernels, .dtype = tensor->dtype, .scale = 1, .statistics = statistics};
	uint64_t mode = hk_float_mode_enter();

	*statistics = (struct hk_statistics){.min = __builtin_inf(), .max = -__builtin_inf()};
	hk_digest_start(&taking.digest);
	int error = add_blocks(&taking, tensor, add_block);
	if (!error) {
		statistics->digest = hk_digest_end(&taking.digest, statistics->count, taking.dtype);
		taking.scale = needed_scale(&taking);
		if (taking.scale != 1) {
			error = add_blocks(&taking, tensor, add_scaled_block);
		}
		conclude(&taking);
	}
	hk_float_mode_leave(mode);
	return error;
}

int hk_statistics_take(const struct hk_tensor *tensor, struct hk_statistics *statistics)
{
	return hk_statistics_take_with(hk_kernels_best(), tensor, statistics);
}
