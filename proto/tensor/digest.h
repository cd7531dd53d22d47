/* digest.h: 64 bits of the elements' bytes in logical order. Internal; part of the dump's format.
 *
 * The bytes are cut into blocks of HK_BLOCK_BYTES, these into stripes of 8 little-endian words of
 * 64 bits. The last stripe is filled up with zero bytes. Sums and products are modulo 2^64:
 *
 *   mix(x):   x = (x ^ x >> 32) * A;  x = (x ^ x >> 29) * B;  x ^ x >> 31
 *   word w, of lane i of the block's stripe s:  x = w ^ (key[i] + s * STEP);
 *             product[i] += (x mod 2^32) * (x >> 32);  plain[i] += w
 *   block:    sum over i of mix(product[i] + key[i]) + mix(plain[i] ^ key[i] rotated left by 23)
 *   state:    C before the first block, then mix(state rotated left by 27, times C, plus the block)
 *   digest:   mix(mix(state ^ count * B) + dtype * C)
 *
 * digest.c has the keys, A, B and C; loops/kernels.h has STEP.
 */
#ifndef HK_TENSOR_DIGEST_H
#define HK_TENSOR_DIGEST_H

#include "tensor/dtype.h"
#include "tensor/loops/kernels.h"

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
