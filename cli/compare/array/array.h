/* array.h: one tensor that was read from a file of another tool. Plain values, one owner. */
#ifndef HK_CLI_COMPARE_ARRAY_ARRAY_H
#define HK_CLI_COMPARE_ARRAY_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "tensor/tensor.h"

#define HK_ARRAY_REASON_BYTES 256

/* An array with all zeros is empty and may be freed. */
struct hk_array {
	enum hk_dtype dtype; /* never HK_DTYPE_NONE */
	uint32_t dimensions;
	uint64_t shape[HK_TENSOR_DIMENSIONS];
	uint64_t count;	      /* elements */
	const void *elements; /* contiguous, the last dimension fastest, in the machine's byte
				 order, not aligned; within the file's bytes or in `memory` */
	void *memory;	      /* malloc'd, or NULL */
};

void hk_array_free(struct hk_array *array);

/* Sets `count` by the shape. Returns the bytes of the elements, or SIZE_MAX if they do not fit. */
size_t hk_array_measure(struct hk_array *array);

/* Copies ELEMENTS, which lie in STRIDES (NULL: contiguous), to `memory`, contiguous. The array has
 * been measured. Returns 0, -EINVAL or -ENOMEM, with REASON. */
int hk_array_gather(struct hk_array *array, const void *elements, const int64_t *strides,
		    char reason[HK_ARRAY_REASON_BYTES]);

/* Turns the bytes of each element in `memory` round. */
void hk_array_swap(struct hk_array *array);

/* Writes a reason, with '?' for what of the file is not printable. Returns -EINVAL. */
__attribute__((format(printf, 2, 3))) int hk_array_refuse(char reason[HK_ARRAY_REASON_BYTES],
							  const char *format, ...);

#endif
