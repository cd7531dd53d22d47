#include "collector/memory/memory_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static_assert(HK_SERIES_BINS % HK_MEMORY_PART_BINS == 0, "parts are whole");

static void clear(Hk__Process *state)
{
	for (size_t i = 0; i < state->n_memory; i++) {
		hk__memory__free_unpacked(state->memory[i], NULL);
	}
	for (size_t i = 0; i < state->n_memory_series; i++) {
		hk__memory_series__free_unpacked(state->memory_series[i], NULL);
	}
	free(state->memory);
	free(state->memory_series);
	state->memory = NULL;
	state->memory_series = NULL;
	state->n_memory = state->n_memory_series = 0;
}

static size_t parts_of(const struct hk_series *series)
{
	return (series->count + HK_MEMORY_PART_BINS - 1) / HK_MEMORY_PART_BINS;
}

/* Makes room for all rows and parts of the ledger. */
static int make_room(Hk__Process *state, const struct hk_ledger *ledger)
{
	struct hk_ledger_row row;
	size_t rows = 0, parts = 0;
	for (; hk_ledger_row(ledger, rows, &row) > 0; rows++) {
		parts += row.series ? parts_of(row.series) : 0;
	}
	state->memory = malloc((rows + 1) * sizeof(*state->memory));
	state->memory_series = malloc((parts + 1) * sizeof(*state->memory_series));
	return state->memory && state->memory_series ? 0 : -ENOMEM;
}

static int add_row(Hk__Process *state, const struct hk_ledger_row *row)
{
	Hk__Memory *memory = malloc(sizeof(*memory));
	if (!memory) {
		return -ENOMEM;
	}
	hk__memory__init(memory);
	state->memory[state->n_memory++] = memory;
	memory->device = row->device;
	memory->allocs = row->allocs;
	memory->frees = row->frees;
	memory->live_bytes = row->live_bytes;
	memory->peak_bytes = row->peak_bytes;
	memory->peak_low = row->peak_low;
	memory->peak_high = row->peak_high;
	memory->peak_ticks = row->peak_ticks;
	memory->at_peak_bytes = row->at_peak_bytes;
	char *kind = strdup(row->kind), *library = strdup(row->library);
	memory->kind = kind ? kind : memory->kind;
	memory->library = library ? library : memory->library;
	return kind && library ? 0 : -ENOMEM;
}

static int copy_bins(const uint64_t *bins, size_t count, uint64_t **ret_bins, size_t *ret_count)
{
	uint64_t *copy = malloc(count * sizeof(*copy));
	if (!copy) {
		return -ENOMEM;
	}
	memcpy(copy, bins, count * sizeof(*copy));
	*ret_bins = copy;
	*ret_count = count;
	return 0;
}

static int add_part(Hk__Process *state, const struct hk_ledger_row *row, uint32_t number)
{
	const struct hk_series *series = row->series;
	uint32_t first = number * HK_MEMORY_PART_BINS, left = series->count - first;
	size_t count = left < HK_MEMORY_PART_BINS ? left : HK_MEMORY_PART_BINS;
	Hk__MemorySeries *part = malloc(sizeof(*part));
	if (!part) {
		return -ENOMEM;
	}
	hk__memory_series__init(part);
	state->memory_series[state->n_memory_series++] = part;
	part->device = row->device;
	part->part = number;
	part->start_ticks = series->start_ticks;
	part->shift = series->shift;
	char *kind = strdup(row->kind);
	part->kind = kind ? kind : part->kind;
	int r = kind ? 0 : -ENOMEM;
	r = r < 0
		? r
		: copy_bins(series->max_bytes + first, count, &part->max_bytes, &part->n_max_bytes);
	return r < 0 ? r
		     : copy_bins(series->last_bytes + first, count, &part->last_bytes,
				 &part->n_last_bytes);
}

int hk_memory_refresh(Hk__Process *state, const struct hk_ledger *ledger)
{
	struct hk_ledger_row row;
	clear(state);
	int r = make_room(state, ledger);
	for (size_t i = 0; r == 0 && hk_ledger_row(ledger, i, &row) > 0; i++) {
		size_t parts = row.series ? parts_of(row.series) : 0;
		r = add_row(state, &row);
		for (uint32_t k = 0; k < parts && r == 0; k++) {
			r = add_part(state, &row, k);
		}
	}
	return r;
}
