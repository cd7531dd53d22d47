/* columns.h: the statistics of a process's call sites as columns (Hk__Cells).
 *
 * Whoever reads or makes them goes through rows here and need not know the layout. Columns come
 * from files and sockets: walking them is safe whatever they hold, and what
 * hk_columns_valid refuses is not worth keeping. All values are cumulative. Everything here is
 * freed by protobuf-c with the message it is in. No state; locked by the caller.
 */
#ifndef HK_WIRE_COLUMNS_H
#define HK_WIRE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_columns_row {
	uint32_t site;
	uint64_t calls, errors;
	uint64_t total_ns, self_ns, outermost_ns;
	uint64_t bytes;
	uint64_t min_ns, max_ns; /* min_ns UINT64_MAX: no call has returned */
	/* of the calls timed at level sample */
	uint64_t sampled, sampled_ns, sampled_self_ns, sampled_outermost_ns, sampled_bytes;
	const uint32_t *bucket; /* rising */
	const uint64_t *count;
	size_t buckets;
};

/* Where a walk is; begin with {.columns = ...}, which may be NULL. */
struct hk_columns_walk {
	const Hk__Cells *columns;
	size_t row, bucket; /* the next ones */
};

/* The next row; false at the end. Its buckets are borrowed from the columns. */
bool hk_columns_next(struct hk_columns_walk *walk, struct hk_columns_row *ret_row);

/* The site of the next row, which is read by hk_columns_next or passed over by hk_columns_skip;
 * false at the end. */
static inline bool hk_columns_peek(const struct hk_columns_walk *walk, uint32_t *ret_site)
{
	if (!walk->columns || walk->row >= walk->columns->n_site) {
		return false;
	}
	*ret_site = walk->columns->site[walk->row];
	return true;
}
void hk_columns_skip(struct hk_columns_walk *walk);

/* Rows that COLUMNS (or NULL) have. */
static inline size_t hk_columns_rows(const Hk__Cells *columns)
{
	return columns ? columns->n_site : 0;
}

/* Sites and buckets rise and are in range, columns are equally long. NULL is valid. */
bool hk_columns_valid(const Hk__Cells *columns);

/* Columns in the making; zeroed: none yet. */
struct hk_columns_builder {
	Hk__Cells *columns;
	size_t rows, buckets; /* there is room for */
};

/* Adds a row, of a higher site than the last. -ENOMEM. */
int hk_columns_add(struct hk_columns_builder *builder, const struct hk_columns_row *row);
/* What was added, without spare room; NULL if nothing was. The builder is empty again. */
Hk__Cells *hk_columns_take(struct hk_columns_builder *builder);
/* Throws away what was added. */
void hk_columns_drop(struct hk_columns_builder *builder);

/* Brings the valid COLUMNS (which may be NULL) up to date by the valid CHANGE: its sites' values,
 * and in their histograms the counts of its buckets, take the place of those there. Doing it twice
 * does nothing more. -ENOMEM: done in part, do it again. */
int hk_columns_merge(Hk__Cells **columns, const Hk__Cells *change);

/* What merging into BEFORE must add for it to become NOW: sites that differ, and their buckets that
 * differ. *RET_CHANGE is NULL if there is nothing; else the caller frees it. -ENOMEM. */
int hk_columns_difference(const Hk__Cells *now, const Hk__Cells *before, Hk__Cells **ret_change);

/* Columns of COUNT rows as older files have them, in any order. NULL if there are none. -ENOMEM. */
int hk_columns_from_cells(Hk__Cell *const *cells, size_t count, Hk__Cells **ret_columns);

#endif
