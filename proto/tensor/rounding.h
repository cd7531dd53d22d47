/* rounding.h: doubles as the numbers that a dtype has. Internal. */
#ifndef HK_TENSOR_ROUNDING_H
#define HK_TENSOR_ROUNDING_H

#include <stdint.h>

#include "tensor/dtype.h"

/* Floating-point numbers of DIGITS binary digits, the smallest normal one 2^LEAST. DIGITS 0:
 * integers. */
struct hk_rounding {
	int digits, least;
};

struct hk_rounding hk_rounding_of(enum hk_dtype dtype);

/* The one with fewer digits. An integer has more than any floating-point number. */
enum hk_dtype hk_rounding_narrower(enum hk_dtype a, enum hk_dtype b);

/* The number of a finite X among the numbers of ROUNDING in order, 0 for 0: X is rounded to
 * nearest, ties to even. Numbers beyond the largest one are counted as if they were there. */
int64_t hk_rounding_number(struct hk_rounding rounding, double x);

#endif
