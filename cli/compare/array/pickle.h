/* pickle.h: what a pickle of one torch tensor says about it. The few opcodes that torch.save writes
 * are followed, a list of functions is known by name, and nothing is called. Pure. */
#ifndef HK_CLI_COMPARE_ARRAY_PICKLE_H
#define HK_CLI_COMPARE_ARRAY_PICKLE_H

#include "cli/compare/array/array.h"

/* A tensor as a view of a storage, which lies elsewhere. */
struct hk_pickled_tensor {
	enum hk_dtype dtype;
	const char *key; /* of the storage; KEY_BYTES within the pickle */
	size_t key_bytes;
	uint64_t offset; /* elements */
	uint32_t dimensions;
	uint64_t shape[HK_TENSOR_DIMENSIONS];
	int64_t strides[HK_TENSOR_DIMENSIONS]; /* elements, not negative */
};

/* Returns 0; -EINVAL if the pickle is damaged or no pickle of one tensor, or -ENOMEM, with REASON.
 */
int hk_pickle_parse(struct hk_pickled_tensor *tensor, const void *bytes, size_t size,
		    char reason[HK_ARRAY_REASON_BYTES]);

#endif
