/* statistics.h: what is kept of a tensor without its elements, taken in one pass. Pure.
 *
 * Elements are widened to double, sums are sums of doubles over short blocks.
 * NaN and Inf take no part in min, max, mean, l2 and deviation, so that one of them does not hide
 * the other numbers; they are counted. 64-bit integers beyond 2^53 become the nearest double. The
 * figures and the digest do not depend on the processor: each implementation gives the same bits.
 * On a big-endian machine the digest has another value.
 */
#ifndef HK_TENSOR_STATISTICS_H
#define HK_TENSOR_STATISTICS_H

#include <stdint.h>

#include "tensor/tensor.h"

struct hk_statistics {
	uint64_t count; /* elements */
	uint64_t nans, positive_infs, negative_infs, zeros;
	double min, max, mean, l2, deviation; /* of the finite elements, deviation divided by their
						number; NaN if there is none, l2 0 */
	uint64_t digest; /* of the elements in logical order, their dtype and number; not of shape
			    or strides. The same on every machine and for every stride. */
};

/* Returns 0, or -EINVAL: unknown dtype, more dimensions than HK_TENSOR_DIMENSIONS, or a number of
 * bytes beyond 2^63. */
int hk_statistics_take(const struct hk_tensor *tensor, struct hk_statistics *statistics);

/* The same with one of the kinds of loops of loops/kernels.h: for tests and benches. */
struct hk_kernels;
int hk_statistics_take_with(const struct hk_kernels *kernels, const struct hk_tensor *tensor,
			    struct hk_statistics *statistics);

#endif
