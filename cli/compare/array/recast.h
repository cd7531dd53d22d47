/* recast.h: the elements of an array in the dtype that its row has: tools store bfloat16 and others
 * as float32. Pure. */
#ifndef HK_CLI_COMPARE_ARRAY_RECAST_H
#define HK_CLI_COMPARE_ARRAY_RECAST_H

#include "cli/compare/array/array.h"

/* Changes the elements of ARRAY to DTYPE, rounded to the nearest where it is narrower. Returns 0,
 * -EINVAL if DTYPE is no floating-point type of at least 16 bits, or -ENOMEM. */
int hk_array_recast(struct hk_array *array, enum hk_dtype dtype);

#endif
