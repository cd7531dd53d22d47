/* moments.h: the sums of blocks, put together without losing digits. Internal. */
#ifndef HK_TENSOR_MOMENTS_H
#define HK_TENSOR_MOMENTS_H

#include "tensor/loops/kernels.h"

/* Of one block: its number of finite elements, their sum, sum of squares, and sum of squared
 * differences from their mean. */
struct hk_block_moments {
	double count, sum, squares, apart;
};

/* Of all blocks so far. The *_low are the rounding errors of the sums before them. */
struct hk_moments {
	double count, sum, sum_low, squares, squares_low, apart;
};

void hk_moments_start(struct hk_moments *moments);
void hk_moments_add(struct hk_moments *moments, const struct hk_block_moments *block);

double hk_moments_mean(const struct hk_moments *moments);
double hk_moments_squares(const struct hk_moments *moments);

/* Sums with nothing in them. */
void hk_sums_start(struct hk_sums *sums);
/* Adds COUNT elements; the first is for lane 0. */
void hk_sums_add_rest(struct hk_sums *sums, const double *rest, size_t count);
/* The sum over lanes, always in the same order. */
double hk_sums_total(const double lanes[HK_LANES]);

#endif
