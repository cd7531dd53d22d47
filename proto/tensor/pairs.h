/* pairs.h: the loops over two blocks of doubles that are compared. Internal. */
#ifndef HK_TENSOR_PAIRS_H
#define HK_TENSOR_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/rounding.h"

#define HK_PAIR_LANES 4

/* Element i is in lane i % HK_PAIR_LANES of each sum. */
struct hk_pair_sums {
	double dot[HK_PAIR_LANES], squares_a[HK_PAIR_LANES], squares_b[HK_PAIR_LANES];
	double squares[HK_PAIR_LANES]; /* of a - b */
	double relative[HK_PAIR_LANES];
	double max_abs, max_rel;
	uint64_t equal, relatives, within_1000, within_5000;
};

/* Adds COUNT finite elements, a multiple of HK_PAIR_LANES. DISTANCES becomes the number of ULP
 * between each two of them. */
typedef void hk_pairs_add(const double *a, const double *b, size_t count,
			  struct hk_rounding rounding, struct hk_pair_sums *sums,
			  uint64_t *distances);

hk_pairs_add hk_pairs_add_plain;
#ifdef __x86_64__
hk_pairs_add hk_pairs_add_avx2; /* floating-point roundings only */
bool hk_pairs_avx2_usable(void);
#endif

#endif
