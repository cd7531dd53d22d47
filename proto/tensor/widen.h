/* widen.h: elements of any dtype as doubles. Pure. */
#ifndef HK_TENSOR_WIDEN_H
#define HK_TENSOR_WIDEN_H

#include "tensor/dtype.h"
#include "tensor/loops/kernels.h"

/* The function that makes doubles of elements of a known DTYPE. Exact, but for 64-bit integers
 * beyond 2^53: those become the nearest double. */
hk_widen *hk_widen_function(const struct hk_kernels *kernels, enum hk_dtype dtype);

/* Makes doubles of COUNT elements of a known DTYPE at FROM, with the best function of this machine.
 */
void hk_widen_elements(enum hk_dtype dtype, const void *from, size_t count, double *to);

#endif
