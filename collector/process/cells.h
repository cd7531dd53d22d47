/* cells.h: the statistics cells of a segment, summed over threads into the cells of a state.
 *
 * A zeroed struct is empty; copy, then merge, then fini. Not thread-safe.
 */
#ifndef HK_COLLECTOR_PROCESS_CELLS_H
#define HK_COLLECTOR_PROCESS_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "ring/reader.h"
#include "schema/wire.pb-c.h"

struct hk_cells {
	struct hk_cell_copy *list;
	size_t count, capacity;
	uint64_t fingerprint; /* differs when any cell has moved */
};

/* Copies all cells in use. Returns 0, -ESTALE if the segment proved damaged, or -ENOMEM. */
int hk_cells_copy(struct hk_reader *reader, struct hk_cells *cells);

/* Updates the columns of STATE with the sums of CELLS. Returns 0 or -ENOMEM. */
int hk_cells_merge(struct hk_cells *cells, struct hk_reader *reader, Hk__Process *state);

void hk_cells_fini(struct hk_cells *cells);

#endif
