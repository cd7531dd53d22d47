/* kernels.h: the loops over a block of elements, once for each kind of processor. Internal.
 *
 * All of them give the same results bit by bit: element i of a call is added to lane i % HK_LANES,
 * with a multiplication and an addition that are rounded each.
 */
#ifndef HK_TENSOR_KERNELS_H
#define HK_TENSOR_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_BLOCK_BYTES 16384 /* of elements; fits the first-level cache beside buffers */
#define HK_LANES 16
#define HK_STRIPE 64 /* bytes that a digest takes at a time: HK_DIGEST_LANES words */
#define HK_DIGEST_LANES 8

struct hk_sums {
	double sum[HK_LANES], squares[HK_LANES];
	double min, max; /* +Inf and -Inf before the first element; without meaning after a NaN */
	uint64_t zeros;
};

/* Of the stripes of one block: product is a sum of products of each word's halves, with keys that
 * depend on lane and stripe; plain is a sum of the words. */
struct hk_digest_lanes {
	uint64_t product[HK_DIGEST_LANES], plain[HK_DIGEST_LANES];
};

/* The key of a lane's first word, and what is added to it from stripe to stripe. */
extern const uint64_t hk_digest_keys[HK_DIGEST_LANES];
#define HK_DIGEST_STEP 0x362f5a9cac63a5b7ull

/* Pointers to elements need not be aligned. */
struct hk_kernels {
	const char *name;
	bool (*usable)(void); /* by this processor and this operating system */
	/* Add GROUPS * HK_LANES elements. */
	void (*sum_f32)(const void *from, size_t groups, struct hk_sums *sums);
	void (*sum_f64)(const void *from, size_t groups, struct hk_sums *sums);
	/* Make COUNT floats of as many numbers of 16 bits. */
	void (*widen_f16)(const void *from, size_t count, float *to);
	void (*widen_bf16)(const void *from, size_t count, float *to);
	/* Adds COUNT whole stripes, of which the first is number FIRST of its block. */
	void (*digest)(const void *from, size_t first, size_t count, struct hk_digest_lanes *lanes);
};

extern const struct hk_kernels hk_kernels_plain;

/* The kernels that were built, fastest first; NULL behind the last. */
extern const struct hk_kernels *const hk_kernels_all[];

/* The fastest usable ones. Safe in any thread. */
const struct hk_kernels *hk_kernels_best(void);

#endif
