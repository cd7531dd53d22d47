/* tensor.h: a tensor in memory. Pure. */
#ifndef HK_TENSOR_TENSOR_H
#define HK_TENSOR_TENSOR_H

#include <stdint.h>

#include "tensor/dtype.h"

#define HK_TENSOR_DIMENSIONS 64 /* torch's limit is 64, NumPy's 64 */

/* A tensor that can be read; its elements need not be aligned. STRIDES are in elements and may be 0
 * or negative; NULL means contiguous, the last dimension fastest. 0 dimensions: one element. */
struct hk_tensor {
	const void *data;
	enum hk_dtype dtype;
	uint32_t dimensions;
	const uint64_t *shape;
	const int64_t *strides;
};

#endif
