/* walk.h: the elements of a strided tensor in logical order, as pieces of memory. Internal. */
#ifndef HK_TENSOR_WALK_H
#define HK_TENSOR_WALK_H

#include <stdint.h>

#include "tensor/tensor.h"

/* Dimensions of one element are dropped, and neighbours that lie in memory like one are joined. */
struct hk_walk {
	const uint8_t *data; /* the next element of the innermost run */
	size_t size;	     /* bytes of an element */
	uint64_t left;	     /* elements that are not read yet */
	uint64_t run;	     /* of those, elements left in the innermost run */
	uint32_t dimensions; /* at least 1; the last is the innermost */
	uint64_t shape[HK_TENSOR_DIMENSIONS], at[HK_TENSOR_DIMENSIONS];
	int64_t step[HK_TENSOR_DIMENSIONS]; /* bytes */
	/* Innermost runs that were copied together, because their elements are neighbours in
	 * memory. */
	uint8_t *panel;
	const uint8_t *panel_at;
	uint64_t panel_left; /* elements; part of LEFT */
};

/* Returns 0, or -EINVAL as hk_statistics_take. WALK->left is then the number of elements. A walk
 * that was started is ended by hk_walk_end, which releases memory. */
int hk_walk_start(struct hk_walk *walk, const struct hk_tensor *tensor);

/* The next elements, at most MOST and at least one while there are any: *COUNT of them, contiguous,
 * in the tensor itself or copied to BUFFER, which has room for MOST. A piece is shorter than MOST
 * only at the tensor's end. */
const void *hk_walk_next(struct hk_walk *walk, void *buffer, size_t most, size_t *count);

void hk_walk_end(struct hk_walk *walk);

#endif
