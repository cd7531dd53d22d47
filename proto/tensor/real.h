/* real.h: what libm has for doubles, without libm. Internal. */
#ifndef HK_TENSOR_REAL_H
#define HK_TENSOR_REAL_H

#include <stdbool.h>

static inline bool hk_is_finite(double x)
{
	return x - x == 0;
}

static inline double hk_absolute(double x)
{
	return x < 0 ? -x : x;
}

/* The power of two that brings MOST, positive and finite, into 1/2 to 1, or as near as a double
 * can. */
static inline double hk_scale_of(double most)
{
	double scale = 1;

	while (most * scale > 1) {
		scale *= 0.5;
	}
	while (most * scale < 0.5 && scale < 0x1p1022) {
		scale *= 2;
	}
	return scale;
}

#define HK_SQUARES_LEAST 0x1p-900 /* sums of squares of doubles below have lost digits */

/* Whether sums of squares that are SQUARES, not of zeros alone, have all their digits. */
static inline bool hk_squares_are_exact(double squares)
{
	return hk_is_finite(squares) && squares >= HK_SQUARES_LEAST;
}

#endif
