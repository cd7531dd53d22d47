#include "collector/cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sketch/histogram.h"

#define CELLS_MAX (4u << 20)

int hk_cells_copy(struct hk_reader *reader, struct hk_cells *cells)
{
	uint64_t cursor = 0;
	struct hk_cell_copy cell;
	int r;
	while ((r = hk_reader_next_cell(reader, &cursor, &cell)) > 0) {
		if (cells->count >= CELLS_MAX) {
			return -ENOMEM;
		}
		if (cells->count == cells->capacity) {
			size_t capacity = cells->capacity ? 2 * cells->capacity : 64;
			struct hk_cell_copy *list = realloc(cells->list, capacity * sizeof(*list));
			if (!list) {
				return -ENOMEM;
			}
			cells->list = list;
			cells->capacity = capacity;
		}
		cells->list[cells->count++] = cell;
		cells->fingerprint =
		    cells->fingerprint * 31 + cell.calls + cell.total_ns + cell.errors + cell.bytes;
	}
	return r;
}

static int by_site(const void *a, const void *b)
{
	const struct hk_cell_copy *x = a, *y = b;
	return (x->site > y->site) - (x->site < y->site);
}

static int set_buckets(Hk__Cell *cell, const struct hk_histogram *histogram)
{
	size_t used = 0;
	for (uint32_t bucket = 0; hk_histogram_next(histogram, &bucket); bucket++) {
		used++;
	}
	if (used > cell->n_bucket) {
		uint32_t *buckets = realloc(cell->bucket, used * sizeof(*buckets));
		if (!buckets) {
			return -ENOMEM;
		}
		cell->bucket = buckets;
		uint64_t *counts = realloc(cell->bucket_count, used * sizeof(*counts));
		if (!counts) {
			return -ENOMEM;
		}
		cell->bucket_count = counts;
	}
	size_t i = 0;
	for (uint32_t bucket = 0; hk_histogram_next(histogram, &bucket); bucket++) {
		cell->bucket[i] = bucket;
		cell->bucket_count[i++] = histogram->bucket[bucket];
	}
	cell->n_bucket = cell->n_bucket_count = used;
	return 0;
}

/* Sums COUNT cells of one site into CELL. */
static int sum_cells(struct hk_reader *reader, const struct hk_cell_copy *list, size_t count,
		     Hk__Cell *cell)
{
	struct hk_histogram histogram = {0};
	cell->calls = cell->errors = cell->total_ns = cell->self_ns = cell->outermost_ns = 0;
	cell->bytes = cell->max_ns = 0;
	cell->min_ns = UINT64_MAX;
	for (size_t i = 0; i < count; i++) {
		const struct hk_cell_copy *from = &list[i];
		cell->calls += from->calls;
		cell->errors += from->errors;
		cell->total_ns += from->total_ns;
		cell->self_ns += from->self_ns;
		cell->outermost_ns += from->outermost_ns;
		cell->bytes += from->bytes;
		cell->min_ns = from->min_ns < cell->min_ns ? from->min_ns : cell->min_ns;
		cell->max_ns = from->max_ns > cell->max_ns ? from->max_ns : cell->max_ns;
		for (uint32_t octave = 0; octave < HK_OCTAVES; octave++) {
			uint64_t buckets[HK_OCTAVE_BUCKETS];
			if (from->octave[octave] != 0 &&
			    hk_reader_octave(reader, from->octave[octave], buckets) == 0) {
				hk_histogram_add_octave(&histogram, octave, buckets);
			}
		}
	}
	return set_buckets(cell, &histogram);
}

int hk_cells_merge(struct hk_cells *cells, struct hk_reader *reader, Hk__Process *state)
{
	size_t old_count = state->n_cells, at = 0;
	Hk__Cell **merged = calloc(old_count + cells->count + 1, sizeof(*merged));
	size_t merged_count = 0;
	int r = merged ? 0 : -ENOMEM;
	if (cells->count > 0) {
		qsort(cells->list, cells->count, sizeof(*cells->list), by_site);
	}
	for (size_t i = 0; i < cells->count && r == 0;) {
		uint32_t site = cells->list[i].site;
		size_t n = 1;
		while (i + n < cells->count && cells->list[i + n].site == site) {
			n++;
		}
		while (at < old_count && state->cells[at]->site < site) {
			merged[merged_count++] = state->cells[at++];
		}
		Hk__Cell *cell = NULL;
		if (at < old_count && state->cells[at]->site == site) {
			cell = state->cells[at++];
		} else if ((cell = malloc(sizeof(*cell))) != NULL) {
			hk__cell__init(cell);
			cell->site = site;
		}
		if (!cell) {
			r = -ENOMEM;
			break;
		}
		merged[merged_count++] = cell;
		r = sum_cells(reader, &cells->list[i], n, cell);
		i += n;
	}
	if (!merged) {
		return r;
	}
	while (at < old_count) {
		merged[merged_count++] = state->cells[at++];
	}
	free(state->cells);
	state->cells = merged;
	state->n_cells = merged_count;
	return r;
}

void hk_cells_fini(struct hk_cells *cells)
{
	free(cells->list);
	memset(cells, 0, sizeof(*cells));
}
