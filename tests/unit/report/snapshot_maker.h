/* snapshot_maker.h: snapshots for tests, put together by hand from fixed arrays. Everything lives
 * in one struct maker, which the test keeps; nothing is ever freed one by one.
 */
#ifndef HK_TEST_SNAPSHOT_MAKER_H
#define HK_TEST_SNAPSHOT_MAKER_H

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/hook.h"
#include "schema/wire.pb-c.h"
#include "wire/columns.h"

#define MAKER_PROCESSES 64
#define MAKER_ITEMS 64
#define MAKER_BUCKETS 1152

struct maker_process {
	Hk__Process message;
	Hk__Anchor start, end;
	Hk__Coverage coverage;
	Hk__Site sites[MAKER_ITEMS], *site_list[MAKER_ITEMS];
	Hk__Cell cells[MAKER_ITEMS], *cell_list[MAKER_ITEMS];
	Hk__Memory memory[MAKER_ITEMS], *memory_list[MAKER_ITEMS];
	Hk__OpenCall open[MAKER_ITEMS], *open_list[MAKER_ITEMS];
	Hk__GovernorStep steps[MAKER_ITEMS], *step_list[MAKER_ITEMS];
	uint32_t *bucket[MAKER_ITEMS];
	uint64_t *bucket_count[MAKER_ITEMS];
};

struct maker {
	Hk__Snapshot snapshot;
	Hk__Job job;
	struct maker_process *processes[MAKER_PROCESSES];
	Hk__Process *process_list[MAKER_PROCESSES];
	uint64_t samples, samples_ns; /* of the first cell of each process */
};

static inline void maker_init(struct maker *maker)
{
	memset(maker, 0, sizeof(*maker));
	hk__snapshot__init(&maker->snapshot);
	hk__job__init(&maker->job);
	maker->job.world_size = -1;
	maker->snapshot.job = &maker->job;
	maker->snapshot.processes = maker->process_list;
}

static inline void maker_fini(struct maker *maker)
{
	for (size_t i = 0; i < maker->snapshot.n_processes; i++) {
		for (size_t k = 0; k < MAKER_ITEMS; k++) {
			free(maker->processes[i]->bucket[k]);
			free(maker->processes[i]->bucket_count[k]);
		}
		if (maker->processes[i]->message.cells) {
			hk__cells__free_unpacked(maker->processes[i]->message.cells, NULL);
		}
		free(maker->processes[i]);
	}
}

/* A process of 1 ns ticks that ran from `start_ns` to `end_ns` on all clocks. */
static inline struct maker_process *maker_process(struct maker *maker, int rank, Hk__Role role,
						  uint64_t start_ns, uint64_t end_ns)
{
	size_t index = maker->snapshot.n_processes++;
	struct maker_process *process = calloc(1, sizeof(*process));
	assert(process && index < MAKER_PROCESSES);
	hk__process__init(&process->message);
	hk__anchor__init(&process->start);
	hk__anchor__init(&process->end);
	hk__coverage__init(&process->coverage);
	process->start.ticks = process->start.monotonic_ns = process->start.realtime_ns = start_ns;
	process->end.ticks = process->end.monotonic_ns = process->end.realtime_ns = end_ns;
	process->message.rank = rank;
	process->message.world_size = -1;
	process->message.role = role;
	process->message.pid = 1000 + (uint32_t)index;
	process->message.host = (char *)"n01";
	process->message.tick_ns_q32 = 1ull << 32;
	process->message.start = &process->start;
	process->message.end = &process->end;
	process->message.exit_kind = HK__EXIT_KIND__EXIT_EXITED;
	process->message.coverage = &process->coverage;
	process->message.sites = process->site_list;
	process->message.old_cells = process->cell_list;
	process->message.memory = process->memory_list;
	process->message.open_calls = process->open_list;
	process->message.governor = process->step_list;
	maker->processes[index] = process;
	maker->process_list[index] = &process->message;
	return process;
}

/* A site and its empty cell. */
static inline Hk__Cell *maker_cell(struct maker_process *process, const char *domain,
				   const char *function, const char *library, uint32_t level)
{
	size_t index = process->message.n_old_cells++;
	assert(index < MAKER_ITEMS);
	process->message.n_sites = process->message.n_old_cells;
	Hk__Site *site = &process->sites[index];
	Hk__Cell *cell = &process->cells[index];
	hk__site__init(site);
	hk__cell__init(cell);
	site->id = cell->site = (uint32_t)index;
	site->domain = (char *)domain;
	site->function = (char *)function;
	site->library = (char *)library;
	site->level = level;
	cell->min_ns = UINT64_MAX;
	process->bucket[index] = calloc(MAKER_BUCKETS, sizeof(uint32_t));
	process->bucket_count[index] = calloc(MAKER_BUCKETS, sizeof(uint64_t));
	assert(process->bucket[index] && process->bucket_count[index]);
	cell->bucket = process->bucket[index];
	cell->bucket_count = process->bucket_count[index];
	process->site_list[index] = site;
	process->cell_list[index] = cell;
	return cell;
}

/* A cell as the row of columns that it becomes. */
static inline struct hk_columns_row maker_row(const Hk__Cell *cell)
{
	return (struct hk_columns_row){
	    .site = cell->site,
	    .calls = cell->calls,
	    .errors = cell->errors,
	    .total_ns = cell->total_ns,
	    .self_ns = cell->self_ns,
	    .outermost_ns = cell->outermost_ns,
	    .bytes = cell->bytes,
	    .min_ns = cell->min_ns,
	    .max_ns = cell->max_ns,
	    .bucket = cell->bucket,
	    .count = cell->bucket_count,
	    .buckets = cell->n_bucket,
	};
}

static inline void maker_samples(const struct maker *maker, Hk__Cells *cells)
{
	cells->n_sampled = cells->n_sampled_ns = cells->n_sampled_outermost_ns = cells->n_site;
	cells->sampled = calloc(cells->n_site, sizeof(uint64_t));
	cells->sampled_ns = calloc(cells->n_site, sizeof(uint64_t));
	cells->sampled_outermost_ns = calloc(cells->n_site, sizeof(uint64_t));
	if (!cells->sampled || !cells->sampled_ns || !cells->sampled_outermost_ns) {
		abort();
	}
	cells->sampled[0] = maker->samples;
	cells->sampled_ns[0] = cells->sampled_outermost_ns[0] = maker->samples_ns;
}

/* The snapshot, its cells as columns: as they are now. */
static inline Hk__Snapshot *maker_snapshot(struct maker *maker)
{
	for (size_t i = 0; i < maker->snapshot.n_processes; i++) {
		Hk__Process *process = maker->snapshot.processes[i];
		if (process->cells) {
			hk__cells__free_unpacked(process->cells, NULL);
			process->cells = NULL;
		}
		if (hk_columns_from_cells(process->old_cells, process->n_old_cells,
					  &process->cells) < 0) {
			abort();
		}
		if (maker->samples > 0) {
			maker_samples(maker, process->cells);
		}
	}
	return &maker->snapshot;
}

/* One timed call into a cell, its bucket found by search, not by the formula under test. */
static inline void maker_call(Hk__Cell *cell, uint64_t ns)
{
	uint32_t index = 0;
	size_t at = 0;
	for (uint64_t lower = 0, width = 1; index < MAKER_BUCKETS - 1; index++) {
		width = index < 64 ? 1 : 1ull << (index / 32 - 1);
		if (ns < lower + width) {
			break;
		}
		lower += width;
	}
	while (at < cell->n_bucket && cell->bucket[at] < index) {
		at++;
	}
	if (at == cell->n_bucket || cell->bucket[at] != index) {
		memmove(cell->bucket + at + 1, cell->bucket + at,
			(cell->n_bucket - at) * sizeof(*cell->bucket));
		memmove(cell->bucket_count + at + 1, cell->bucket_count + at,
			(cell->n_bucket - at) * sizeof(*cell->bucket_count));
		cell->bucket[at] = index;
		cell->bucket_count[at] = 0;
		cell->n_bucket = ++cell->n_bucket_count;
	}
	cell->bucket_count[at]++;
	cell->calls++;
	cell->total_ns += ns;
	cell->self_ns += ns;
	cell->outermost_ns += ns;
	cell->min_ns = ns < cell->min_ns ? ns : cell->min_ns;
	cell->max_ns = ns > cell->max_ns ? ns : cell->max_ns;
}

static inline Hk__Memory *maker_memory(struct maker_process *process, const char *kind,
				       const char *library, uint64_t peak)
{
	size_t index = process->message.n_memory++;
	assert(index < MAKER_ITEMS);
	Hk__Memory *memory = &process->memory[index];
	hk__memory__init(memory);
	memory->device = -1;
	memory->kind = (char *)kind;
	memory->library = (char *)library;
	memory->peak_bytes = memory->peak_low = memory->peak_high = peak;
	process->memory_list[index] = memory;
	return memory;
}

static inline Hk__OpenCall *maker_open(struct maker_process *process, uint32_t site, uint32_t depth,
				       uint64_t start_ticks)
{
	size_t index = process->message.n_open_calls++;
	assert(index < MAKER_ITEMS);
	Hk__OpenCall *open = &process->open[index];
	hk__open_call__init(open);
	open->site = site;
	open->depth = depth;
	open->start_ticks = start_ticks;
	process->open_list[index] = open;
	return open;
}

static inline Hk__GovernorStep *maker_step(struct maker_process *process, const char *pattern,
					   uint32_t from, uint32_t to, uint64_t ticks)
{
	size_t index = process->message.n_governor++;
	assert(index < MAKER_ITEMS);
	Hk__GovernorStep *step = &process->steps[index];
	hk__governor_step__init(step);
	step->pattern = (char *)pattern;
	step->from = from;
	step->to = to;
	step->ticks = ticks;
	process->step_list[index] = step;
	return step;
}

#endif
