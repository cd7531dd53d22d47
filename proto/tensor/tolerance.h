/* tolerance.h: how far apart two tensors of the same healthy computation may be. Pure. */
#ifndef HK_TENSOR_TOLERANCE_H
#define HK_TENSOR_TOLERANCE_H

#include "tensor/dtype.h"

struct hk_tolerance {
	enum hk_dtype narrower; /* of the two dtypes and the least one that was computed with */
	double relative; /* of the l2 norm of the difference, to the l2 norm of the reference; 0:
			    every element has to be equal */
	double
	    largest; /* of the largest difference, to the largest absolute value of the reference */
	double
	    absolute; /* of each element, for numbers that are too small for the dtype's digits */
};

/* LEAST: a dtype that either side was computed with although its elements are stored in a wider
 * one, or HK_DTYPE_NONE. FACTOR multiplies what is allowed; 1 is the rule. */
struct hk_tolerance hk_tolerance_of(enum hk_dtype a, enum hk_dtype b, enum hk_dtype least,
				    double factor);

/* The rule as lines of text for users, the first beginning with "rule: ". */
const char *hk_tolerance_rule(void);

#endif
