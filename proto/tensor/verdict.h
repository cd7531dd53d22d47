/* verdict.h: whether two tensors are the same healthy computation's, and why. Pure. */
#ifndef HK_TENSOR_VERDICT_H
#define HK_TENSOR_VERDICT_H

#include "tensor/difference.h"
#include "tensor/tolerance.h"

enum hk_verdict {
	HK_VERDICT_AGREES,
	HK_VERDICT_DIFFERS,
	HK_VERDICT_NOT_COMPARED, /* they have other shapes, or no numbers */
};

/* What is known of a tensor. Figures that are not known: min, max, mean, l2 and deviation are NaN,
 * the digest is 0. */
struct hk_verdict_side {
	enum hk_dtype dtype;
	uint32_t dimensions;
	const uint64_t *shape;
	const struct hk_statistics *statistics;
};

#define HK_VERDICT_ROOM 192 /* bytes that every reason fits in */

/* Judges A by the reference B. DIFFERENCE is that of their elements, or NULL: then their statistics
 * are compared. *REASON becomes an English text in ASCII, without a full stop. */
enum hk_verdict hk_verdict_take(const struct hk_verdict_side *a, const struct hk_verdict_side *b,
				const struct hk_difference *difference,
				const struct hk_tolerance *tolerance, char reason[HK_VERDICT_ROOM]);

#endif
