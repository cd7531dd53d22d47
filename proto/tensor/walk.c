#include "tensor/walk.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LINE 64			/* bytes that memory gives at once */
#define TILE 16			/* lines that are transposed at a time */
#define FIRST_CACHE 32768	/* lines of a run that stay until the next run without a panel */
#define PANEL_BYTES (1ul << 20) /* stays in the second cache */

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
	walk->panel = NULL;
	walk->panel_left = 0;
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

/* From the begin of an innermost run to that of another one, BY places on. */
static void move_outer(struct hk_walk *walk, uint64_t by)
{
	for (uint32_t i = walk->dimensions - 1; i-- > 0; by = 1) {
		walk->data += walk->step[i] * (int64_t)by;
		walk->at[i] += by;
		if (walk->at[i] < walk->shape[i]) {
			return;
		}
		walk->data -= walk->step[i] * (int64_t)walk->shape[i];
		walk->at[i] = 0;
	}
}

/* From the end of an innermost run to the begin of the next one. */
static void next_run(struct hk_walk *walk)
{
	uint32_t inner = walk->dimensions - 1;

	walk->data -= walk->step[inner] * (int64_t)walk->shape[inner];
	walk->run = walk->shape[inner];
	move_outer(walk, 1);
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

/* Makes COLUMNS runs of ROWS elements each, by whole lines: as many columns as a line has elements
 * at most. */
#define TRANSPOSE(type)                                                              \
	static void transpose_##type(const uint8_t *from, int64_t step, size_t rows, \
				     size_t columns, uint8_t *panel)                 \
	{                                                                            \
		type *to = (type *)(void *)panel;                                    \
                                                                                     \
		for (size_t row = 0, part; row < rows; row += part) {                \
			type tile[TILE][LINE / sizeof(type)];                        \
			part = rows - row < TILE ? rows - row : TILE;                \
			for (size_t i = 0; i < part; i++, from += step) {            \
				memcpy(tile[i], from, columns * sizeof(type));       \
			}                                                            \
			for (size_t k = 0; k < columns; k++) {                       \
				for (size_t i = 0; i < part; i++) {                  \
					to[k * rows + row + i] = tile[i][k];         \
				}                                                    \
			}                                                            \
		}                                                                    \
	}

TRANSPOSE(uint8_t)
TRANSPOSE(uint16_t)
TRANSPOSE(uint32_t)
TRANSPOSE(uint64_t)

static void transpose(const struct hk_walk *walk, size_t rows, size_t columns)
{
	int64_t step = walk->step[walk->dimensions - 1];

	switch (walk->size) {
	case 1:
		transpose_uint8_t(walk->data, step, rows, columns, walk->panel);
		break;
	case 2:
		transpose_uint16_t(walk->data, step, rows, columns, walk->panel);
		break;
	case 4:
		transpose_uint32_t(walk->data, step, rows, columns, walk->panel);
		break;
	default:
		transpose_uint64_t(walk->data, step, rows, columns, walk->panel);
	}
}

/* Of the runs that begin here, how many have their elements side by side, and are worth a panel; 0
 * if there are none. */
static size_t panel_columns(const struct hk_walk *walk)
{
	uint32_t inner = walk->dimensions - 1;
	uint64_t rows = walk->shape[inner];

	if (!inner || walk->run != rows || walk->step[inner - 1] != (int64_t)walk->size ||
	    rows > PANEL_BYTES / 2 / walk->size || rows < FIRST_CACHE / LINE) {
		return 0;
	}
	uint64_t columns = PANEL_BYTES / walk->size / rows;
	uint64_t there = walk->shape[inner - 1] - walk->at[inner - 1];
	columns = columns < LINE / walk->size ? columns : LINE / walk->size;
	columns = columns < there ? columns : there;
	return columns < 2 ? 0 : columns;
}

/* Fills the panel if it is empty, worth it, and there is memory. */
static bool has_panel(struct hk_walk *walk)
{
	if (walk->panel_left) {
		return true;
	}
	size_t rows = walk->shape[walk->dimensions - 1], columns = panel_columns(walk);
	if (columns && !walk->panel) {
		/* The first panel is the largest. */
		walk->panel = malloc(rows * columns * walk->size);
	}
	if (!columns || !walk->panel) {
		return false;
	}
	transpose(walk, rows, columns);
	walk->panel_at = walk->panel;
	walk->panel_left = rows * columns;
	move_outer(walk, columns);
	return true;
}

static const void *take_from_panel(struct hk_walk *walk, size_t count)
{
	const uint8_t *piece = walk->panel_at;

	walk->panel_at += count * walk->size;
	walk->panel_left -= count;
	walk->left -= count;
	return piece;
}

/* Copies at least one of the next elements, and MOST at most. Returns how many. */
static size_t copy_some(struct hk_walk *walk, uint8_t *to, size_t most)
{
	bool panel = has_panel(walk);
	uint64_t there = panel ? walk->panel_left : walk->run;
	size_t count = there < most ? there : most;

	if (panel) {
		memcpy(to, take_from_panel(walk, count), count * walk->size);
	} else {
		copy_run(to, walk->data, walk->step[walk->dimensions - 1], walk->size, count);
		advance(walk, count);
	}
	return count;
}

const void *hk_walk_next(struct hk_walk *walk, void *buffer, size_t most, size_t *count)
{
	*count = walk->left < most ? walk->left : most;
	if (walk->step[walk->dimensions - 1] == (int64_t)walk->size && walk->run >= *count) {
		const void *piece = walk->data;
		advance(walk, *count);
		return piece;
	}
	if (walk->panel_left >= *count) {
		return take_from_panel(walk, *count);
	}
	for (size_t filled = 0; filled < *count;) {
		filled += copy_some(walk, (uint8_t *)buffer + filled * walk->size, *count - filled);
	}
	return buffer;
}

void hk_walk_end(struct hk_walk *walk)
{
	free(walk->panel);
}
