/* shape.h: how the shapes of two tensors relate. Pure. */
#ifndef HK_CLI_COMPARE_SHAPE_H
#define HK_CLI_COMPARE_SHAPE_H

#include "cli/compare/comparison.h"

/* The number of elements of ROW, UINT64_MAX beyond what fits. */
uint64_t hk_shape_count(const struct hk_dump_row *row);

/* The relation of A's and B's shapes. TRANSPOSED: the dimensions of B to exchange are in SWAPPED.
 */
enum hk_match_shape hk_shape_relation(const struct hk_dump_row *a, const struct hk_dump_row *b,
				      uint8_t swapped[2]);

/* Finds two dimensions of ROW of equal size above 1, the last ones, whose exchange keeps the shape.
 * Returns whether there are such. */
bool hk_shape_square(const struct hk_dump_row *row, uint8_t swapped[2]);

/* Sets SHAPE and STRIDES, of HK_TENSOR_DIMENSIONS each, to the contiguous tensor ROW with the
 * dimensions SWAPPED exchanged. */
void hk_shape_exchange(const struct hk_dump_row *row, const uint8_t swapped[2], uint64_t *shape,
		       int64_t *strides);

/* Writes SHAPE as "[2,3]" to TEXT. */
#define HK_SHAPE_TEXT_BYTES 128
const char *hk_shape_text(char text[HK_SHAPE_TEXT_BYTES], const uint64_t *shape,
			  uint32_t dimensions);

/* Writes the place of element AT of a tensor of SHAPE as "[5,17]" to TEXT. */
const char *hk_shape_place(char text[HK_SHAPE_TEXT_BYTES], uint64_t at, const uint64_t *shape,
			   uint32_t dimensions);

#endif
