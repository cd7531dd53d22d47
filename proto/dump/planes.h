/* planes.h: values with their bytes taken apart: the first bytes of all, then the second ones, and
 * so on. zstd finds more in exponents, and in the upper bytes of integers, when they are together.
 * Pure. */
#ifndef HK_DUMP_PLANES_H
#define HK_DUMP_PLANES_H

#include <stddef.h>

/* COUNT values of WIDTH bytes each, STRIDE bytes apart, to planes, which do not overlap them. */
void hk_planes_write(void *to, const void *from, size_t count, size_t stride, size_t width);

/* Planes to COUNT such values. */
void hk_planes_read(void *to, const void *from, size_t count, size_t stride, size_t width);

#endif
