#include "collector/process/cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring/reader.h"
#include "sketch/histogram.h"
#include "wire/columns.h"

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
		cells->fingerprint = cells->fingerprint * 31 + cell.calls + cell.total_ns +
				     cell.errors + cell.bytes + cell.device_ns;
	}
	return r;
}

static int by_site(const void *a, const void *b)
{
	const struct hk_cell_copy *x = a, *y = b;
	return (x->site > y->site) - (x->site < y->site);
}

/* Adds the sum of COUNT cells of one site to BUILDER. */
static int add_sum(struct hk_reader *reader, const struct hk_cell_copy *list, size_t count,
		   struct hk_columns_builder *builder)
{
	struct hk_histogram histogram = {0};
	struct hk_columns_row row = {.site = list->site, .min_ns = UINT64_MAX};
	uint32_t buckets[HK_HISTOGRAM_BUCKETS];
	uint64_t counts[HK_HISTOGRAM_BUCKETS];
	for (size_t i = 0; i < count; i++) {
		const struct hk_cell_copy *from = &list[i];
		row.calls += from->calls;
		row.errors += from->errors;
		row.total_ns += from->total_ns;
		row.self_ns += from->self_ns;
		row.outermost_ns += from->outermost_ns;
		row.bytes += from->bytes;
		row.sampled += from->sampled;
		row.sampled_ns += from->sampled_ns;
		row.sampled_self_ns += from->sampled_self_ns;
		row.sampled_outermost_ns += from->sampled_outermost_ns;
		row.sampled_bytes += from->sampled_bytes;
		row.device_ns += from->device_ns;
		row.stacks += from->stacks;
		row.inner_calls += from->inner_calls;
		row.min_ns = from->min_ns < row.min_ns ? from->min_ns : row.min_ns;
		row.max_ns = from->max_ns > row.max_ns ? from->max_ns : row.max_ns;
		for (uint32_t octave = 0; octave < HK_OCTAVES; octave++) {
			uint64_t octave_counts[HK_OCTAVE_BUCKETS];
			if (from->octave[octave] != 0 &&
			    hk_reader_octave(reader, from->octave[octave], octave_counts) == 0) {
				hk_histogram_add_octave(&histogram, octave, octave_counts);
			}
		}
	}
	for (uint32_t bucket = 0; hk_histogram_next(&histogram, &bucket); bucket++) {
		buckets[row.buckets] = bucket;
		counts[row.buckets++] = histogram.bucket[bucket];
	}
	row.bucket = buckets;
	row.count = counts;
	return hk_columns_add(builder, &row);
}

int hk_cells_merge(struct hk_cells *cells, struct hk_reader *reader, Hk__Process *state)
{
	struct hk_columns_builder builder = {0};
	int r = 0;
	if (cells->count > 0) {
		qsort(cells->list, cells->count, sizeof(*cells->list), by_site);
	}
	for (size_t i = 0, n; i < cells->count && r == 0; i += n) {
		n = 1;
		while (i + n < cells->count && cells->list[i + n].site == cells->list[i].site) {
			n++;
		}
		r = add_sum(reader, &cells->list[i], n, &builder);
	}
	if (r < 0) {
		hk_columns_drop(&builder);
		return r;
	}
	Hk__Cells *sums = hk_columns_take(&builder);
	r = hk_columns_merge(&state->cells, sums);
	if (sums) {
		hk__cells__free_unpacked(sums, NULL);
	}
	return r;
}

void hk_cells_fini(struct hk_cells *cells)
{
	free(cells->list);
	memset(cells, 0, sizeof(*cells));
}
