#include "cli/compare/foreign/csv/ptdbg_metrics.h"

#include <float.h>
#include <math.h>

#include "tensor/widen.h"

#define BLOCK 1024

struct sums {
	double a, b, product, apart; /* of squares, products, squared differences */
	double relative, max_abs, max_rel;
};

/* The larger one; NaN if one is. */
static double larger(double a, double b)
{
	return isnan(a) || a > b ? a : b;
}

static void element_take(struct sums *sums, double a, double b)
{
	double apart = a - b, relative = fabs(apart / b);

	sums->a += a * a;
	sums->b += b * b;
	sums->product += a * b;
	sums->apart += apart * apart;
	sums->relative += relative;
	sums->max_abs = larger(sums->max_abs, fabs(apart));
	sums->max_rel = larger(sums->max_rel, relative);
	if (isnan(apart)) {
		sums->max_abs = NAN;
	}
	if (isnan(relative)) {
		sums->max_rel = NAN;
	}
}

static void cosine_take(struct hk_ptdbg_metrics *metrics, const struct sums *sums)
{
	double a = sqrt(sums->a), b = sqrt(sums->b);

	metrics->a_zero = a <= DBL_EPSILON;
	metrics->b_zero = b <= DBL_EPSILON;
	if (metrics->a_zero && metrics->b_zero) {
		metrics->cosine = 1;
	} else if (metrics->a_zero || metrics->b_zero) {
		metrics->cosine = NAN;
	} else {
		metrics->cosine = 0.5 + 0.5 * sums->product / (a * b);
	}
}

void hk_ptdbg_metrics_take(struct hk_ptdbg_metrics *metrics, const void *a, enum hk_dtype a_dtype,
			   const void *b, enum hk_dtype b_dtype, uint64_t count)
{
	double a_block[BLOCK], b_block[BLOCK];
	hk_widen *a_widen = hk_widen_function(hk_kernels_best(), a_dtype),
		 *b_widen = hk_widen_function(hk_kernels_best(), b_dtype);
	const uint8_t *a_at = a, *b_at = b;
	struct sums sums = {0};

	*metrics = (struct hk_ptdbg_metrics){0};
	for (uint64_t left = count; left > 0;) {
		size_t many = left < BLOCK ? (size_t)left : BLOCK;
		a_widen(a_at, many, a_block);
		b_widen(b_at, many, b_block);
		for (size_t i = 0; i < many; i++) {
			element_take(&sums, a_block[i], b_block[i]);
		}
		a_at += many * hk_dtype_bytes(a_dtype);
		b_at += many * hk_dtype_bytes(b_dtype);
		left -= many;
	}
	cosine_take(metrics, &sums);
	metrics->rmse = sqrt(sums.apart / (double)count);
	metrics->mape = sums.relative / (double)count * 100;
	metrics->max_abs = sums.max_abs;
	metrics->max_rel = sums.max_rel;
}
