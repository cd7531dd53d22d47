/* difference.h: how far two tensors of the same number of elements are apart, in one pass. Pure. */
#ifndef HK_TENSOR_DIFFERENCE_H
#define HK_TENSOR_DIFFERENCE_H

#include <stdint.h>

#include "tensor/statistics.h"

/* Elements are compared in double. "Relative" is |a - b| / |b|: B is the reference. Elements that
 * are NaN on both sides, or the same Inf, are equal and within everything. Elements that are not
 * finite take no part in the sums and maxima; shares are of all elements, and 1 without any.
 *
 * The narrower dtype is the one with fewer binary digits; integers have the most, and one ULP of
 * theirs is 1. ULP are counted after both elements are rounded to it, to nearest, ties to even:
 * they are the numbers of the dtype from one element to the other. Rounding explains a difference
 * if the wider element, rounded, is the narrower one, or, where both are of the narrower dtype, if
 * they are neighbours: each may be a rounding of a number between them. Integers it never explains.
 */
struct hk_difference {
	uint64_t count;
	uint64_t equal;		 /* the same value, NaN with NaN */
	uint64_t only_a, only_b; /* not finite on one side only, or otherwise than on the other */
	double cosine;		 /* plain, -1 to 1; NaN if one side is all zero and the other not */
	double cosine_half;	 /* ptdbg_ascend's: 0.5 + 0.5 * cosine */
	double rmse, mape;	 /* mape in percent, over elements with b != 0; NaN without one */
	double max_abs, max_rel; /* max_rel over elements with b != 0; NaN without one */
	uint64_t max_abs_at;	 /* the element's number in logical order */
	double euclidean;
	double within_1000, within_5000; /* share of elements with |a-b| / |b| < 1/1000, < 5/1000 */
	uint64_t max_ulp, median_ulp_bound; /* ULP of the narrower dtype; the smallest power of two
					       that half of the finite elements are within, 0 if
					       half of them are equal */
	double
	    within_dtype; /* share of elements that the rounding of the narrower dtype explains */
};

/* Compares A with the reference B. Returns 0, or -EINVAL: one has no dtype that is known, or their
 * numbers of elements differ. */
int hk_difference_take(const struct hk_tensor *a, const struct hk_tensor *b,
		       struct hk_difference *difference);

/* The same in plain C, with the same bits: for tests. */
int hk_difference_take_plain(const struct hk_tensor *a, const struct hk_tensor *b,
			     struct hk_difference *difference);

#endif
