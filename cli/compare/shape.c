#include "cli/compare/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

uint64_t hk_shape_count(const struct hk_dump_row *row)
{
	uint64_t count = 1;

	for (uint32_t i = 0; i < row->dimensions; i++) {
		if (row->shape[i] == 0) {
			return 0;
		}
		if (__builtin_mul_overflow(count, row->shape[i], &count)) {
			count = UINT64_MAX;
		}
	}
	return count;
}

static bool is_same(const struct hk_dump_row *a, const struct hk_dump_row *b)
{
	return a->dimensions == b->dimensions &&
	       (a->dimensions == 0 ||
		memcmp(a->shape, b->shape, a->dimensions * sizeof(*a->shape)) == 0);
}

static bool is_squeezed(const struct hk_dump_row *a, const struct hk_dump_row *b)
{
	uint32_t i = 0, j = 0;

	for (;;) {
		for (; i < a->dimensions && a->shape[i] == 1; i++) {
		}
		for (; j < b->dimensions && b->shape[j] == 1; j++) {
		}
		if (i == a->dimensions || j == b->dimensions) {
			return i == a->dimensions && j == b->dimensions;
		}
		if (a->shape[i++] != b->shape[j++]) {
			return false;
		}
	}
}

/* Whether the shapes differ in two dimensions only, which are exchanged. */
static bool is_transposed(const struct hk_dump_row *a, const struct hk_dump_row *b,
			  uint8_t swapped[2])
{
	uint32_t differing = 0;

	if (a->dimensions != b->dimensions || a->dimensions > HK_TENSOR_DIMENSIONS) {
		return false;
	}
	for (uint32_t i = 0; i < a->dimensions; i++) {
		if (a->shape[i] != b->shape[i]) {
			if (differing == 2) {
				return false;
			}
			swapped[differing++] = (uint8_t)i;
		}
	}
	return differing == 2 && a->shape[swapped[0]] == b->shape[swapped[1]] &&
	       a->shape[swapped[1]] == b->shape[swapped[0]];
}

enum hk_match_shape hk_shape_relation(const struct hk_dump_row *a, const struct hk_dump_row *b,
				      uint8_t swapped[2])
{
	if (is_same(a, b)) {
		return HK_SHAPE_SAME;
	}
	if (hk_shape_count(a) != hk_shape_count(b)) {
		return HK_SHAPE_COUNT;
	}
	if (is_squeezed(a, b)) {
		return HK_SHAPE_SQUEEZED;
	}
	return is_transposed(a, b, swapped) ? HK_SHAPE_TRANSPOSED : HK_SHAPE_RESHAPED;
}

bool hk_shape_square(const struct hk_dump_row *row, uint8_t swapped[2])
{
	if (row->dimensions > HK_TENSOR_DIMENSIONS) {
		return false;
	}
	for (uint32_t i = row->dimensions; i-- > 1;) {
		if (row->shape[i] > 1 && row->shape[i] == row->shape[i - 1]) {
			swapped[0] = (uint8_t)(i - 1);
			swapped[1] = (uint8_t)i;
			return true;
		}
	}
	return false;
}

void hk_shape_exchange(const struct hk_dump_row *row, const uint8_t swapped[2], uint64_t *shape,
		       int64_t *strides)
{
	int64_t stride = 1;
	uint32_t first = swapped[0], second = swapped[1];

	for (uint32_t i = row->dimensions; i-- > 0;) {
		shape[i] = row->shape[i];
		strides[i] = stride;
		stride *= (int64_t)row->shape[i];
	}
	uint64_t size = shape[first];
	int64_t step = strides[first];
	shape[first] = shape[second];
	strides[first] = strides[second];
	shape[second] = size;
	strides[second] = step;
}

static const char *numbers_text(char text[HK_SHAPE_TEXT_BYTES], const uint64_t *numbers,
				uint32_t count)
{
	size_t length = 0;

	text[length++] = '[';
	for (uint32_t i = 0; i < count; i++) {
		if (length + 24 > HK_SHAPE_TEXT_BYTES) {
			length += (size_t)snprintf(text + length, 4, "...");
			break;
		}
		length += (size_t)snprintf(text + length, HK_SHAPE_TEXT_BYTES - length,
					   "%s%" PRIu64, i ? "," : "", numbers[i]);
	}
	snprintf(text + length, HK_SHAPE_TEXT_BYTES - length, "]");
	return text;
}

const char *hk_shape_text(char text[HK_SHAPE_TEXT_BYTES], const uint64_t *shape,
			  uint32_t dimensions)
{
	return numbers_text(text, shape, dimensions);
}

const char *hk_shape_place(char text[HK_SHAPE_TEXT_BYTES], uint64_t at, const uint64_t *shape,
			   uint32_t dimensions)
{
	uint64_t place[HK_TENSOR_DIMENSIONS];

	if (dimensions > HK_TENSOR_DIMENSIONS) {
		dimensions = HK_TENSOR_DIMENSIONS;
	}
	for (uint32_t i = dimensions; i-- > 0;) {
		place[i] = shape[i] ? at % shape[i] : 0;
		at = shape[i] ? at / shape[i] : 0;
	}
	return numbers_text(text, place, dimensions);
}
