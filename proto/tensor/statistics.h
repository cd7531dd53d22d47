/* statistics.h: what is kept of a tensor without its elements, taken in one pass. Pure.
 *
 * Exact for each dtype: elements are widened to double, sums are sums of doubles over short blocks.
 * NaN and Inf take no part in min, max, mean, l2 and deviation, so that one of them does not hide
 * the other numbers; they are counted.
 */
#ifndef HK_TENSOR_STATISTICS_H
#define HK_TENSOR_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

#include "tensor/dtype.h"

#define HK_TENSOR_DIMENSIONS 64 /* torch's limit is 64, NumPy's 64 */

/* A tensor in memory that can be read. STRIDES are in elements and may be 0 or negative; NULL means
 * contiguous, the last dimension fastest. 0 dimensions: one element. */
struct hk_tensor {
	const void *data;
	enum hk_dtype dtype;
	uint32_t dimensions;
	const uint64_t *shape;
	const int64_t *strides;
};

struct hk_statistics {
	uint64_t count; /* elements */
	uint64_t nans, positive_infs, negative_infs, zeros;
	double min, max, mean, l2, deviation; /* of the finite elements, deviation divided by their
						number; NaN if there is none, l2 0 */
	uint64_t digest; /* of the elements in logical order, their dtype and number; not of shape or
			    strides. The same on every machine and for every stride. */
};

/* Returns 0, or -EINVAL: unknown dtype, more dimensions than HK_TENSOR_DIMENSIONS, or a number of
 * bytes beyond 2^63. */
int hk_statistics_take(const struct hk_tensor *tensor, struct hk_statistics *statistics);

#endif
