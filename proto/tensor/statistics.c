#include "tensor/statistics.h"

#include <errno.h>
#include <stdbool.h>

#include "tensor/digest.h"
#include "tensor/float_mode.h"
#include "tensor/moments.h"
#include "tensor/real.h"
#include "tensor/walk.h"
#include "tensor/widen.h"

#define PIECE 1024 /* elements that are widened at a time */
/* Where the sum of squares exceeds what is wanted, the squared differences from the mean, by more,
 * its rounding errors would show: the block is summed once more, around its mean. */
#define ILL_CONDITIONED 0x1p-16

struct taking {
	const struct hk_kernels *kernels;
	enum hk_dtype dtype;
	hk_widen *widen;
	hk_take *take; /* NULL: elements are widened first */
	size_t size;
	double scale; /* elements are multiplied by it; a power of two */
	struct hk_moments moments;
	struct hk_digest digest;
	struct hk_specials specials;
	struct hk_statistics *statistics;
};

static void move_and_scale(double *x, size_t count, double scale, double shift)
{
	for (size_t i = 0; i < count; i++) {
		x[i] = x[i] * scale - shift;
	}
}

static void sum_doubles(const struct taking *taking, const double *x, size_t count,
			struct hk_sums *sums)
{
	size_t groups = count / HK_LANES;

	taking->kernels->sum_f64(x, groups, sums);
	hk_sums_add_rest(sums, x + groups * HK_LANES, count % HK_LANES);
}

/* The slow way: any dtype, with or without numbers that are not finite, which SPECIALS counts,
 * around SHIFT. Returns the number of finite elements. */
static size_t sum_finite(const struct taking *taking, const uint8_t *block, size_t count,
			 double shift, struct hk_specials *specials, struct hk_sums *sums)
{
	double x[PIECE];
	size_t finite = 0;

	hk_sums_start(sums);
	for (size_t part; count; count -= part, block += part * taking->size) {
		part = count < PIECE ? count : PIECE;
		taking->widen(block, part, x);
		size_t kept = taking->kernels->keep_finite(x, part, specials);
		if (shift != 0 || taking->scale != 1) {
			move_and_scale(x, kept, taking->scale, shift);
		}
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
		taking->widen(block, part, x);
		sum_doubles(taking, x, part, sums);
	}
}

/* The fast way, whose sums are not finite if an element is not; with the block's digest. */
static void take_block(const struct taking *taking, const uint8_t *block, size_t count,
		       struct hk_sums *sums, struct hk_digest_lanes *lanes)
{
	size_t bytes = count * taking->size, chunks = bytes / HK_CHUNK;
	size_t rest = bytes % HK_CHUNK;

	hk_sums_start(sums);
	if (taking->take) {
		taking->take(block, chunks, sums, lanes);
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
		struct hk_specials counted = {0};
		struct hk_sums around;
		sum_finite(taking, block, count, one.sum / one.count, &counted, &around);
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
	if (!hk_is_finite(hk_sums_total(sums.squares))) {
		finite = sum_finite(taking, block, count, 0, &taking->specials, &sums);
	}
	add_sums(taking, block, count, finite, &sums);
	statistics->min = sums.min < statistics->min ? sums.min : statistics->min;
	statistics->max = sums.max > statistics->max ? sums.max : statistics->max;
	statistics->zeros += sums.zeros;
}

/* Again, for the moments alone: scaled. */
static void add_scaled_block(struct taking *taking, const uint8_t *block, size_t count)
{
	struct hk_specials counted = {0};
	struct hk_sums sums;
	size_t finite = sum_finite(taking, block, count, 0, &counted, &sums);

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
	hk_walk_end(&walk);
	return 0;
}

static void conclude(struct taking *taking)
{
	struct hk_statistics *statistics = taking->statistics;
	const struct hk_moments *moments = &taking->moments;
	double nan = __builtin_nan("");

	statistics->nans = taking->specials.nans;
	statistics->positive_infs = taking->specials.positive_infs;
	statistics->negative_infs = taking->specials.negative_infs;
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
	if (statistics->min == statistics->max) {
		statistics->mean = statistics->min;
		statistics->deviation = 0;
	}
}

/* 1 where squares are no problem. */
static double needed_scale(const struct taking *taking)
{
	const struct hk_moments *moments = &taking->moments;
	double min = taking->statistics->min, max = taking->statistics->max;
	double most = max > -min ? max : -min;

	if (taking->dtype != HK_DTYPE_F64 || moments->count == 0 || most == 0 ||
	    hk_squares_are_exact(hk_moments_squares(moments))) {
		return 1;
	}
	return hk_scale_of(most);
}

int hk_statistics_take_with(const struct hk_kernels *kernels, const struct hk_tensor *tensor,
			    struct hk_statistics *statistics)
{
	if (!hk_dtype_bytes(tensor->dtype)) {
		return -EINVAL;
	}
	struct taking taking = {
	    .kernels = kernels,
	    .dtype = tensor->dtype,
	    .widen = hk_widen_function(kernels, tensor->dtype),
	    .take = take_function(kernels, tensor->dtype),
	    .scale = 1,
	    .statistics = statistics,
	};
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
