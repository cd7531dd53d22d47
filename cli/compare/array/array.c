#include "cli/compare/array/array.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/walk.h"

int hk_array_refuse(char reason[HK_ARRAY_REASON_BYTES], const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(reason, HK_ARRAY_REASON_BYTES, format, list);
	va_end(list);
	for (char *at = reason; *at; at++) {
		if (*at < ' ' || *at > '~') {
			*at = '?';
		}
	}
	return -EINVAL;
}

size_t hk_array_measure(struct hk_array *array)
{
	uint64_t count = 1, most = 1;
	size_t bytes;

	/* The other dimensions must not overflow where one is 0 either. */
	for (uint32_t i = 0; i < array->dimensions; i++) {
		uint64_t size = array->shape[i];
		if (__builtin_mul_overflow(most, size ? size : 1, &most)) {
			return SIZE_MAX;
		}
		count *= size;
	}
	array->count = count;
	if (__builtin_mul_overflow(most, hk_dtype_bytes(array->dtype), &bytes) ||
	    bytes > INT64_MAX) {
		return SIZE_MAX;
	}
	return (size_t)count * hk_dtype_bytes(array->dtype);
}

void hk_array_free(struct hk_array *array)
{
	free(array->memory);
	*array = (struct hk_array){0};
}

int hk_array_gather(struct hk_array *array, const void *elements, const int64_t *strides,
		    char reason[HK_ARRAY_REASON_BYTES])
{
	const struct hk_tensor tensor = {elements, array->dtype, array->dimensions, array->shape,
					 array->count > 0 ? strides : NULL};
	struct hk_walk walk;
	size_t done = 0, count, bytes = (size_t)array->count * hk_dtype_bytes(array->dtype);

	if (hk_walk_start(&walk, &tensor) < 0) {
		return hk_array_refuse(reason, "the strides are beyond any memory");
	}
	array->memory = malloc(bytes ? bytes : 1);
	if (!array->memory) {
		hk_array_refuse(reason, "%s", strerror(ENOMEM));
		return -ENOMEM;
	}
	array->elements = array->memory;
	while (walk.left > 0) {
		uint8_t *to = (uint8_t *)array->memory + done;
		const void *piece = hk_walk_next(&walk, to, (size_t)walk.left, &count);
		if (piece != to) {
			memcpy(to, piece, count * walk.size);
		}
		done += count * walk.size;
	}
	return 0;
}

void hk_array_swap(struct hk_array *array)
{
	size_t size = hk_dtype_bytes(array->dtype);
	uint8_t *bytes = array->memory;

	for (uint64_t i = 0; i < array->count; i++, bytes += size) {
		for (size_t low = 0, high = size - 1; low < high; low++, high--) {
			uint8_t byte = bytes[low];
			bytes[low] = bytes[high];
			bytes[high] = byte;
		}
	}
}
