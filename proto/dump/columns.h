/* columns.h: rows to the body of a ROWS block, and back. Pure; the bytes may be hostile. */
#ifndef HK_DUMP_COLUMNS_H
#define HK_DUMP_COLUMNS_H

#include <stddef.h>

#include "dump/format.h"

/* Rows of one block. SHAPES has the sizes of the dimensions of all rows, one row behind the other;
 * SCALARS the bytes of their scalars, without NUL. */
struct hk_dump_batch {
	struct hk_dump_cells *cells;
	uint64_t *shapes;
	char *scalars;
	size_t rows, shape_count, scalar_bytes;
};

/* Bytes that hk_dump_columns_write writes for BATCH. */
size_t hk_dump_columns_bytes(const struct hk_dump_batch *batch);
void hk_dump_columns_write(const struct hk_dump_batch *batch, void *bytes);

/* Reads SIZE BYTES that say that they have ROWS rows. The caller frees the three arrays of *BATCH.
 * Returns 0, -EBADMSG if they contradict themselves, or -ENOMEM. */
int hk_dump_columns_read(const void *bytes, size_t size, uint64_t rows,
			 struct hk_dump_batch *batch);

#endif
