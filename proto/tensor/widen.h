/* widen.h: elements of any dtype as doubles, and doubles rounded to a dtype. Internal. */
#ifndef HK_TENSOR_WIDEN_H
#define HK_TENSOR_WIDEN_H

#include <stdint.h>

#include "tensor/dtype.h"

/* COUNT elements at FROM, which need not be aligned. Exact, but for 64-bit integers beyond 2^53:
 * those become the nearest double. */
void hk_widen(enum hk_dtype dtype, const void *from, size_t count, double *to);

#endif
