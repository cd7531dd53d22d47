#include "dump/planes.h"

#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))

INLINE void take_apart(uint8_t *restrict to, const uint8_t *restrict from, size_t count,
		       size_t stride, size_t width)
{
	for (size_t byte = 0; byte < width; byte++) {
		for (size_t i = 0; i < count; i++) {
			to[byte * count + i] = from[i * stride + byte];
		}
	}
}

INLINE void put_together(uint8_t *restrict to, const uint8_t *restrict from, size_t count,
			 size_t stride, size_t width)
{
	for (size_t byte = 0; byte < width; byte++) {
		for (size_t i = 0; i < count; i++) {
			to[i * stride + byte] = from[byte * count + i];
		}
	}
}

/* With numbers that the compiler knows these loops become vectors. */
void hk_planes_write(void *to, const void *from, size_t count, size_t stride, size_t width)
{
	if (stride == 2 && width == 2) {
		take_apart(to, from, count, 2, 2);
	} else if (stride == 4 && width == 4) {
		take_apart(to, from, count, 4, 4);
	} else if (stride == 8 && width == 8) {
		take_apart(to, from, count, 8, 8);
	} else {
		take_apart(to, from, count, stride, width);
	}
}

static void read_4(uint8_t *restrict to, const uint8_t *restrict from, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		to[4 * i] = from[i];
		to[4 * i + 1] = from[count + i];
		to[4 * i + 2] = from[2 * count + i];
		to[4 * i + 3] = from[3 * count + i];
	}
}

static void read_2(uint8_t *restrict to, const uint8_t *restrict from, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		to[2 * i] = from[i];
		to[2 * i + 1] = from[count + i];
	}
}

void hk_planes_read(void *to, const void *from, size_t count, size_t stride, size_t width)
{
	if (stride == 2 && width == 2) {
		read_2(to, from, count);
	} else if (stride == 4 && width == 4) {
		read_4(to, from, count);
	} else {
		put_together(to, from, count, stride, width);
	}
}
