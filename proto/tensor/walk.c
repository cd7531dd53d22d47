#include "tensor/walk.h"

#include <errno.h>
#include <string.h>

/* The number of elements. Returns 0, or -EINVAL if they have more than 2^63 bytes. */
static int count_elements(const struct hk_tensor *tensor, uint64_t size, uint64_t *count)
{
	uint64_t product = 1, bytes;

	for (uint32_t i = 0; i < tensor->dimensions; i++) {
		if (!tensor->shape[i]) {
			*count = 0;
			return 0;
		}
	}
	for (uint32_t i = 0; i < tensor->dimensions; i++) {
		if (__builtin_mul_overflow(product, tensor->shape[i], &product)) {
			return -EINVAL;
		}
	}
	if (__builtin_mul_overflow(product, size, &bytes) || bytes > INT64_MAX) {
		return -EINVAL;
	}
	*count = product;
	return 0;
}

/* Puts a dimension outside of those that the walk has, or joins it to the outermost. Dimensions are
 * collected from the innermost to the outermost. */
static void add_dimension(struct hk_walk *walk, uint64_t length, int64_t step)
{
	uint32_t last = walk->dimensions - 1;

	if (length == 1) {
		return;
	}
	if (walk->dimensions && step == (int64_t)((uint64_t)walk->step[last] * walk->shape[last])) {
		walk->shape[last] *= length;
		return;
	}
	walk->shape[walk->dimensions] = length;
	walk->step[walk->dimensions++] = step;
}

static void reverse_dimensions(struct hk_walk *walk)
{
	for (uint32_t i = 0, k = walk->dimensions - 1; i < k; i++, k--) {
		uint64_t length = walk->shape[i];
		int64_t step = walk->step[i];
		walk->shape[i] = walk->shape[k];
		walk->step[i] = walk->step[k];
		walk->shape[k] = length;
		walk->step[k] = step;
	}
}

int hk_walk_start(struct hk_walk *walk, const struct hk_tensor *tensor)
{
	uint64_t size = hk_dtype_bytes(tensor->dtype), inner = size;

	if (!size || tensor->dimensions > HK_TENSOR_DIMENSIONS ||
	    count_elements(tensor, size, &walk->left)) {
		return -EINVAL;
	}
	walk->data = tensor->data;
	walk->size = size;
	walk->dimensions = 0;
	for (uint32_t i = walk->left ? tensor->dimensions : 0; i-- > 0;) {
		uint64_t step = tensor->strides ? (uint64_t)tensor->strides[i] * size : inner;
		add_dimension(walk, tensor->shape[i], (int64_t)step);
		inner *= tensor->shape[i];
	}
	if (!walk->dimensions) {
		walk->shape[0] = walk->left;
		walk->step[0] = (int64_t)size;
		walk->dimensions = 1;
	}
	reverse_dimensions(walk);
	memset(walk->at, 0, walk->dimensions * sizeof(*walk->at));
	walk->run = walk->shape[walk->dimensions - 1];
	return 0;
}

/* From the end of an innermost run to the begin of the next one. */
static void next_run(struct hk_walk *walk)
{
	uint32_t inner = walk->dimensions - 1;

	walk->data -= walk->step[inner] * (int64_t)walk->shape[inner];
	walk->run = walk->shape[inner];
	for (uint32_t i = inner; i-- > 0;) {
		walk->data += walk->step[i];
		if (++walk->at[i] < walk->shape[i]) {
			return;
		}
		walk->data -= walk->step[i] * (int64_t)walk->shape[i];
		walk->at[i] = 0;
	}
}

#define COPY_EACH(type)                                                        \
	for (size_t i = 0; i < count; i++, from += step, to += sizeof(type)) { \
		memcpy(to, from, sizeof(type));                                \
	}

static void copy_run(uint8_t *to, const uint8_t *from, int64_t step, size_t size, size_t count)
{
	if (step == (int64_t)size) {
		memcpy(to, from, count * size);
	} else if (size == 1) {
		COPY_EACH(uint8_t)
	} else if (size == 2) {
		COPY_EACH(uint16_t)
	} else if (size == 4) {
		COPY_EACH(uint32_t)
	} else {
		COPY_EACH(uint64_t)
	}
}

/* Moves over COUNT elements of the innermost run. */
static void advance(struct hk_walk *walk, size_t count)
{
	walk->data += walk->step[walk->dimensions - 1] * (int64_t)count;
	walk->run -= count;
	walk->left -= count;
	if (!walk->run && walk->left) {
		next_run(walk);
	}
}

const void *hk_walk_next(struct hk_walk *walk, void *buffer, size_t most, size_t *count)
{
	int64_t step = walk->step[walk->dimensions - 1];
	size_t filled = 0;

	*count = walk->left < most ? walk->left : most;
	if (step == (int64_t)walk->size && walk->run >= *count) {
		const void *piece = walk->data;
		advance(walk, *count);
		return piece;
	}
	while (filled < *count) {
		size_t part = *count - filled < walk->run ? *count - filled : walk->run;
		copy_run((uint8_t *)buffer + filled * walk->size, walk->data, step, walk->size,
			 part);
		advance(walk, part);
		filled += part;
	}
	return buffer;
}
