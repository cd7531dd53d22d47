/* kernels.h: the loops over a block of elements, once for each kind of processor. Internal.
 *
 * All of them give the same results bit by bit: element i of a call is added to lane i % HK_LANES,
 * with a multiplication and an addition that are rounded each.
 */
#ifndef HK_TENSOR_LOOPS_KERNELS_H
#define HK_TENSOR_LOOPS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HK_BLOCK_BYTES 16384 /* of elements; fits the first-level cache beside buffers */
#define HK_LANES 16
#define HK_STRIPE 64 /* bytes that a digest takes at a time: HK_DIGEST_LANES words */
#define HK_DIGEST_LANES 8
#define HK_CHUNK \
	128 /* bytes that hold HK_LANES elements of each floating-point dtype, once or more */

struct hk_sums {
	double sum[HK_LANES], squares[HK_LANES];
	double min, max; /* +Inf and -Inf before the first element; without meaning after a NaN */
	uint64_t zeros;
};

static inline void hk_sums_widen_range(struct hk_sums *sums, double min, double max)
{
	sums->min = min < sums->min ? min : sums->min;
	sums->max = max > sums->max ? max : sums->max;
}

/* Of the stripes of one block: product is a sum of products of each word's halves, with keys that
 * depend on lane and stripe; plain is a sum of the words. */
struct hk_digest_lanes {
	uint64_t product[HK_DIGEST_LANES], plain[HK_DIGEST_LANES];
};

/* The key of a lane's first word, and what is added to it from stripe to stripe. */
extern const uint64_t hk_digest_keys[HK_DIGEST_LANES];
#define HK_DIGEST_STEP 0x362f5a9cac63a5b7ull

/* Adds CHUNKS * HK_CHUNK bytes of elements, which begin a block and need not be aligned. */
typedef void hk_take(const void *from, size_t chunks, struct hk_sums *sums,
		     struct hk_digest_lanes *lanes);

/* Makes doubles of COUNT elements, which need not be aligned. */
typedef void hk_widen(const void *from, size_t count, double *to);

/* For each dtype. */
struct hk_widening {
	hk_widen *boolean, *u8, *i8, *u16, *i16, *u32, *i32, *u64, *i64;
	hk_widen *f16, *bf16, *f32, *f64, *e4m3, *e5m2;
};

struct hk_specials {
	uint64_t nans, positive_infs, negative_infs;
};

struct hk_kernels {
	const char *name;
	bool (*usable)(void); /* by this processor and this operating system */
	hk_take *take_f16, *take_bf16, *take_f32, *take_f64;
	/* Adds GROUPS * HK_LANES doubles. */
	void (*sum_f64)(const double *from, size_t groups, struct hk_sums *sums);
	const struct hk_widening *widening;
	/* Keeps the finite ones of COUNT elements, in order, and counts the others. Returns how
	 * many are kept. */
	size_t (*keep_finite)(double *x, size_t count, struct hk_specials *specials);
	/* Adds whole stripes, which need not be aligned; the first is number FIRST of its block. */
	void (*digest)(const void *from, size_t first, size_t stripes,
		       struct hk_digest_lanes *lanes);
};

/* keep_finite in plain C. */
size_t hk_keep_finite_plain(double *x, size_t count, struct hk_specials *specials);

extern const struct hk_kernels hk_kernels_plain;
#ifdef __x86_64__
extern const struct hk_kernels hk_kernels_avx2, hk_kernels_avx512;
#endif

/* The kernels that were built, fastest first; NULL behind the last. */
extern const struct hk_kernels *const hk_kernels_all[];

/* The fastest usable ones. Safe in any thread. */
const struct hk_kernels *hk_kernels_best(void);

#endif
