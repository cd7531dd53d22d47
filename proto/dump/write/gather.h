/* gather.h: the elements of a tensor, contiguous. Pure. */
#ifndef HK_DUMP_GATHER_H
#define HK_DUMP_GATHER_H

#include <stdbool.h>

#include "tensor/statistics.h"

/* Where in TENSOR the next element is. */
struct hk_gather {
	const struct hk_tensor *tensor;
	size_t width;	/* bytes of an element */
	uint64_t count; /* elements */
	bool contiguous;
	uint64_t done; /* elements */
	uint64_t index[HK_TENSOR_DIMENSIONS];
	const char *at;
};

/* Returns 0, or -EINVAL: unknown dtype, too many dimensions or bytes. */
int hk_gather_begin(struct hk_gather *gather, const struct hk_tensor *tensor);

/* Copies the next COUNT elements TO; so many are left. */
void hk_gather_copy(struct hk_gather *gather, void *to, uint64_t count);

#endif
