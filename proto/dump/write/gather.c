#include "dump/write/gather.h"

#include <errno.h>
#include <string.h>

static bool is_contiguous(const struct hk_tensor *tensor)
{
	uint64_t stride = 1;

	if (!tensor->strides) {
		return true;
	}
	for (uint32_t d = tensor->dimensions; d-- > 0;) {
		if (tensor->shape[d] != 1 && tensor->strides[d] != (int64_t)stride) {
			return false;
		}
		stride *= tensor->shape[d];
	}
	return true;
}

int hk_gather_begin(struct hk_gather *gather, const struct hk_tensor *tensor)
{
	uint64_t count = 1, bytes;
	bool empty = false;

	if (tensor->dimensions > HK_TENSOR_DIMENSIONS || hk_dtype_bytes(tensor->dtype) == 0) {
		return -EINVAL;
	}
	for (uint32_t d = 0; d < tensor->dimensions; d++) {
		if (tensor->shape[d] == 0) {
			empty = true;
		} else if (__builtin_mul_overflow(count, tensor->shape[d], &count)) {
			return -EINVAL;
		}
	}
	if (__builtin_mul_overflow(count, hk_dtype_bytes(tensor->dtype), &bytes) ||
	    bytes > INT64_MAX) {
		return -EINVAL;
	}
	memset(gather, 0, sizeof(*gather));
	gather->tensor = tensor;
	gather->width = hk_dtype_bytes(tensor->dtype);
	gather->count = empty ? 0 : count;
	gather->contiguous = is_contiguous(tensor);
	gather->at = tensor->data;
	return 0;
}

/* Moves to the first element of the next run along the last dimension. */
static void advance(struct hk_gather *gather, uint64_t run)
{
	const struct hk_tensor *tensor = gather->tensor;
	const int64_t width = (int64_t)gather->width;
	uint32_t d = tensor->dimensions - 1;

	gather->index[d] += run;
	gather->at += (int64_t)run * tensor->strides[d] * width;
	while (gather->index[d] == tensor->shape[d] && d > 0) {
		gather->at -= (int64_t)tensor->shape[d] * tensor->strides[d] * width;
		gather->index[d] = 0;
		d--;
		gather->index[d]++;
		gather->at += tensor->strides[d] * width;
	}
}

#define COPY(type)                                                               \
	do {                                                                     \
		for (uint64_t i = 0; i < run; i++) {                             \
			type value;                                              \
			memcpy(&value, from + (int64_t)i * step, sizeof(value)); \
			memcpy(to + i * sizeof(value), &value, sizeof(value));   \
		}                                                                \
	} while (0)

static void copy_run(char *to, const char *from, int64_t step, size_t width, uint64_t run)
{
	if (step == (int64_t)width) {
		memcpy(to, from, run * width);
		return;
	}
	switch (width) {
	case 1:
		COPY(uint8_t);
		break;
	case 2:
		COPY(uint16_t);
		break;
	case 4:
		COPY(uint32_t);
		break;
	default:
		COPY(uint64_t);
		break;
	}
}

void hk_gather_copy(struct hk_gather *gather, void *to, uint64_t count)
{
	const struct hk_tensor *tensor = gather->tensor;
	char *out = to;

	if (gather->contiguous) {
		memcpy(out, gather->at + gather->done * gather->width, count * gather->width);
		gather->done += count;
		return;
	}
	gather->done += count;
	while (count > 0) {
		const uint32_t last = tensor->dimensions - 1;
		uint64_t run = tensor->shape[last] - gather->index[last];
		run = run < count ? run : count;
		copy_run(out, gather->at, tensor->strides[last] * (int64_t)gather->width,
			 gather->width, run);
		advance(gather, run);
		out += run * gather->width;
		count -= run;
	}
}
