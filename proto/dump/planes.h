/* planes.h: values with their bytes taken apart: the first bytes of all, then the second ones, and
 * so on. zstd finds more in exponents, and in the upper bytes of integers, when they are together.
 * Pure. */
#ifndef HK_DUMP_PLANES_H
#define HK_DUMP_PLANES_H

#include <stddef.h>
#include <stdint.h>

/* COUNT values of WIDTH bytes each, STRIDE bytes apart, to planes. */
static inline void hk_planes_write(uint8_t *to, const uint8_t *from, size_t count, size_t stride,
				   size_t width)
{
	for (size_t byte = 0; byte < width; byte++) {
		for (size_t i = 0; i < count; i++) {
			*to++ = from[i * stride + byte];
		}
	}
}

static inline void hk_planes_read(uint8_t *to, const uint8_t *from, size_t count, size_t stride,
				  size_t width)
{
	for (size_t byte = 0; byte < width; byte++) {
		for (size_t i = 0; i < count; i++) {
			to[i * stride + byte] = *from++;
		}
	}
}

#endif
