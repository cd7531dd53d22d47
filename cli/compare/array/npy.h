/* npy.h: parses NumPy's .npy files, versions 1 to 3. Pure. */
#ifndef HK_CLI_COMPARE_ARRAY_NPY_H
#define HK_CLI_COMPARE_ARRAY_NPY_H

#include <stdbool.h>

#include "cli/compare/array/array.h"

/* Whether BYTES begin as a .npy file does. */
bool hk_npy_recognises(const void *bytes, size_t size);

/* Parses the file of SIZE bytes. Elements in C order and in the machine's byte order stay in BYTES;
 * others are copied. Two-byte void elements are bfloat16: NumPy knows no name for it. Returns 0,
 * -EINVAL or -ENOMEM, with REASON. */
int hk_npy_parse(struct hk_array *array, const void *bytes, size_t size,
		 char reason[HK_ARRAY_REASON_BYTES]);

#endif
