/* columns.h: the statistics of a process's call sites as columns (Hk__Cells). Readers and writers
 * go through rows here and need not know the layout. Columns come from files and sockets: a walk is
 * safe for any content; columns that fail hk_columns_valid must not be kept. All values are
 * cumulative. All memory is freed by protobuf-c with the message. No state; locked by the
 * caller. */
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
	uint64_t device_ns;   /* of an activity its own, of a call of the work that it submitted */
	uint64_t stacks;      /* calls whose stack was kept */
	uint64_t inner_calls; /* timed ones inside of another call of the domain */
	const uint32_t *bucket; /* rising */
	const uint64_t *count;
	size_t buckets;
};

/* Position of a walk; begin with {.columns = ...}, which may be NULL. */
struct hk_columns_walk {
	const Hk__Cells *columns;
	size_t row, bucket; /* next row and bucket */
};

/* Reads the next row; false at the end. Its buckets are borrowed from the columns. */
bool hk_columns_next(struct hk_columns_walk *walk, struct hk_columns_row *ret_row);

/* The site of the next row, which hk_columns_next reads or hk_columns_skip skips; false at the
 * end. */
static inline bool hk_columns_peek(const struct hk_columns_walk *walk, uint32_t *ret_site)
{
	if (!walk->columns || walk->row >= walk->columns->n_site) {
		return false;
	}
	*ret_site = walk->columns->site[walk->row];
	return true;
}
void hk_columns_skip(struct hk_columns_walk *walk);

/* Number of rows in COLUMNS (or NULL). */
static inline size_t hk_columns_rows(const Hk__Cells *columns)
{
	return columns ? columns->n_site : 0;
}

/* Whether sites and buckets rise and are in range, and columns have equal lengths. NULL is
 * valid. */
bool hk_columns_valid(const Hk__Cells *columns);

/* Columns under construction; zeroed: empty. */
struct hk_columns_builder {
	Hk__Cells *columns;
	size_t rows, buckets; /* capacities */
};

/* Adds a row, of a higher site than the last. Returns 0 or -ENOMEM. */
int hk_columns_add(struct hk_columns_builder *builder, const struct hk_columns_row *row);
/* Returns the columns without spare room, NULL without rows, and empties the builder. */
Hk__Cells *hk_columns_take(struct hk_columns_builder *builder);
/* Frees what was added. */
void hk_columns_drop(struct hk_columns_builder *builder);

/* Applies the valid CHANGE to the valid COLUMNS (which may be NULL): values of its sites, and
 * counts of its buckets, replace existing ones. Doing it twice has no further effect. Returns 0, or
 * -ENOMEM if only a part was applied: do it again. */
int hk_columns_merge(Hk__Cells **columns, const Hk__Cells *change);

/* Makes the columns that turn BEFORE into NOW when merged: sites and buckets that differ.
 * *RET_CHANGE is NULL without a difference; else the caller frees it. Returns 0 or -ENOMEM. */
int hk_columns_difference(const Hk__Cells *now, const Hk__Cells *before, Hk__Cells **ret_change);

/* Makes columns from COUNT rows of an older file, in any order; NULL without rows. Returns 0 or
 * -ENOMEM. */
int hk_columns_from_cells(Hk__Cell *const *cells, size_t count, Hk__Cells **ret_columns);

#endif
