#include "cli/compare/foreign/csv/msprobe_metrics.h"

#include <float.h>
#include <math.h>

#include "tensor/widen.h"

#define BLOCK 1024

struct sums {
	double a, b, product, apart; /* of squares, products, squared differences */
	double max_abs, max_rel;
	uint64_t within_1000, within_5000;
};

/* The distance of 1 to the next number of the type in which msprobe divides: float32 for narrower
 * types, and float64 for integers. */
static double epsilon_of(enum hk_dtype a, enum hk_dtype b)
{
	bool wide =
	    (a <= HK_DTYPE_I64 || a == HK_DTYPE_F64) || (b <= HK_DTYPE_I64 || b == HK_DTYPE_F64);

	return wide ? DBL_EPSILON : (double)FLT_EPSILON;
}

static void element_take(struct sums *sums, double a, double b, double epsilon)
{
	double apart = fabs(a - b), relative = apart / fabs(b == 0 ? epsilon : b);

	sums->a += a * a;
	sums->b += b * b;
	sums->product += a * b;
	sums->apart += apart * apart;
	sums->max_abs = fmax(sums->max_abs, apart);
	sums->max_rel = fmax(sums->max_rel, relative);
	sums->within_1000 += relative < 0.001;
	sums->within_5000 += relative < 0.005;
}

/* Makes NaN and Inf 0. Returns false if only one side has them. */
static bool finite_make(double *a, double *b)
{
	if (isfinite(*a) && isfinite(*b)) {
		return true;
	}
	if (!isnan(*a) != !isnan(*b) || !isinf(*a) != !isinf(*b)) {
		return false;
	}
	*a = 0;
	*b = 0;
	return true;
}

static double cosine_of(const struct sums *sums)
{
	double a = sqrt(sums->a), b = sqrt(sums->b);

	if (a <= DBL_EPSILON && b <= DBL_EPSILON) {
		return 1;
	}
	return a <= DBL_EPSILON || b <= DBL_EPSILON ? NAN : sums->product / (a * b);
}

void hk_msprobe_metrics_take(struct hk_msprobe_metrics *metrics, const void *a,
			     enum hk_dtype a_dtype, const void *b, enum hk_dtype b_dtype,
			     uint64_t count)
{
	double a_block[BLOCK], b_block[BLOCK], epsilon = epsilon_of(a_dtype, b_dtype);
	hk_widen *a_widen = hk_widen_function(hk_kernels_best(), a_dtype),
		 *b_widen = hk_widen_function(hk_kernels_best(), b_dtype);
	const uint8_t *a_at = a, *b_at = b;
	struct sums sums = {0};

	*metrics = (struct hk_msprobe_metrics){0};
	for (uint64_t left = count; left > 0;) {
		size_t many = left < BLOCK ? (size_t)left : BLOCK;
		a_widen(a_at, many, a_block);
		b_widen(b_at, many, b_block);
		for (size_t i = 0; i < many; i++) {
			metrics->apart |= !finite_make(&a_block[i], &b_block[i]);
			element_take(&sums, a_block[i], b_block[i], epsilon);
		}
		a_at += many * hk_dtype_bytes(a_dtype);
		b_at += many * hk_dtype_bytes(b_dtype);
		left -= many;
	}
	metrics->cosine = cosine_of(&sums);
	metrics->euclidean = sqrt(sums.apart);
	metrics->max_abs = sums.max_abs;
	metrics->max_rel = sums.max_rel;
	metrics->within_1000 = (double)sums.within_1000 / (double)count;
	metrics->within_5000 = (double)sums.within_5000 / (double)count;
}
