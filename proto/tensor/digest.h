/* digest.h: 64 bits of the elements' bytes in logical order. Internal.
 *
 * A block of HK_BLOCK_BYTES is summed up in lanes of 64 bits, from which a number is made by
 * mixing; the numbers of the blocks are mixed one after another, then the number of elements and
 * the dtype. The last stripe is filled up with zero bytes. Words are read as little-endian numbers:
 * on a big-endian machine a digest has another value.
 */
#ifndef HK_TENSOR_DIGEST_H
#define HK_TENSOR_DIGEST_H

#include "tensor/dtype.h"
#include "tensor/kernels.h"

struct hk_digest {
	uint64_t state;
};

void hk_digest_start(struct hk_digest *digest);

/* Adds the bytes at the end of a block that make no whole chunk, fewer than HK_CHUNK. DONE is the
 * number of the block's chunks that LANES has. */
void hk_digest_add_rest(struct hk_digest_lanes *lanes, const struct hk_kernels *kernels,
			size_t done, const void *rest, size_t bytes);

/* Adds a block: all of its stripes. */
void hk_digest_add(struct hk_digest *digest, const struct hk_digest_lanes *lanes);

uint64_t hk_digest_end(const struct hk_digest *digest, uint64_t count, enum hk_dtype dtype);

#endif
