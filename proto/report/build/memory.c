#include "report/build/memory.h"
#include "report/model/role.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PART_BINS 16u
#define PARTS_MAX (HK_REPORT_SERIES_BINS / PART_BINS)
/* Limit of a bin's width, which is 2^shift ticks: 256 bins of 2^56 ticks hold all 64-bit times. */
#define SHIFT_MAX 56u

/* ---- by library ---- */

/* A row of one process. */
struct part {
	struct hk_report_memory row;
	size_t process; /* index in the snapshot */
};

static int by_rank_and_role(int32_t rank, const char *role, int32_t other_rank,
			    const char *other_role)
{
	if (rank != other_rank) {
		return rank < other_rank ? -1 : 1;
	}
	return -strcmp(role, other_role); /* main before launcher and helper */
}

static int by_kind(const struct hk_report_memory *x, const struct hk_report_memory *y)
{
	int order = by_rank_and_role(x->rank, x->role, y->rank, y->role);
	if (order != 0) {
		return order;
	}
	if (x->device != y->device) {
		return x->device < y->device ? -1 : 1;
	}
	return strcmp(x->kind, y->kind);
}

static bool is_all(const struct hk_report_memory *row)
{
	return strcmp(row->library, "*") == 0;
}

static int by_library(const struct hk_report_memory *x, const struct hk_report_memory *y)
{
	int order = by_kind(x, y);
	if (order != 0) {
		return order;
	}
	/* Library "*" comes first even if a name begins with a lower character. */
	if (is_all(x) != is_all(y)) {
		return is_all(x) ? -1 : 1;
	}
	return strcmp(x->library, y->library);
}

static int by_row_and_process(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	int order = by_library(&x->row, &y->row);

	return order ? order : (x->process > y->process) - (x->process < y->process);
}

static int part_fill(struct hk_report *report, const Hk__Process *process, const Hk__Memory *from,
		     const struct hk_report_clock *clock, struct hk_report_memory *row)
{
	*row = (struct hk_report_memory){
	    .rank = hk_report_rank_of(process),
	    .role = hk_report_role_of(process),
	    .device = from->device,
	    .kind = hk_report_strings_get(&report->strings, from->kind),
	    .library = hk_report_strings_get(&report->strings, from->library),
	    .allocs = from->allocs,
	    .frees = from->frees,
	    .live_bytes = from->live_bytes,
	    .peak_bytes = from->peak_bytes,
	    .peak_low = from->peak_low,
	    .peak_high = from->peak_high,
	    .peak_time_ns = hk_report_clock_ns(clock, from->peak_ticks),
	    .at_peak_bytes = from->at_peak_bytes,
	};
	return row->kind && row->library ? 0 : -ENOMEM;
}

/* Adds the row of another process. It is unknown whether the peaks coincide, so the sum of the
 * upper limits becomes the upper limit. */
static void merge(struct hk_report_memory *into, const struct hk_report_memory *from)
{
	into->allocs += from->allocs;
	into->frees += from->frees;
	into->live_bytes += from->live_bytes;
	if (from->peak_bytes > into->peak_bytes) {
		into->peak_bytes = from->peak_bytes;
		into->peak_time_ns = from->peak_time_ns;
	}
	if (from->peak_low > into->peak_low) {
		into->peak_low = from->peak_low;
	}
	if (__builtin_add_overflow(into->peak_high, from->peak_high, &into->peak_high)) {
		into->peak_high = UINT64_MAX;
	}
}

/* Returns the row "*" with the highest peak among the processes of one kind. Returns NULL if there
 * is no row "*", or if live bytes at the peak were not kept. FIRST is the first part of the kind.
 */
static const struct part *peak_of(const struct part *first, size_t count)
{
	const struct part *most = NULL;

	for (size_t i = 0; i < count && is_all(&first[i].row); i++) {
		if (i > 0 && by_kind(&first[i].row, &first->row) != 0) {
			break;
		}
		if (!most || first[i].row.peak_bytes > most->row.peak_bytes) {
			most = &first[i];
		}
	}
	return most && most->row.at_peak_bytes == most->row.peak_bytes ? most : NULL;
}

static void join(struct hk_report *report, const struct part *parts, size_t count)
{
	const struct part *peak = NULL;

	for (size_t i = 0; i < count; i++) {
		if (i == 0 || by_kind(&parts[i - 1].row, &parts[i].row) != 0) {
			peak = peak_of(&parts[i], count - i);
		}
		struct hk_report_memory *row = &report->memory[report->memory_count];
		if (i > 0 && by_library(&parts[i - 1].row, &parts[i].row) == 0) {
			merge(--row, &parts[i].row);
		} else {
			*row = parts[i].row;
			row->at_peak_bytes = 0;
			row->have_at_peak = peak;
			report->memory_count++;
		}
		if (peak && peak->process == parts[i].process) {
			row->at_peak_bytes = parts[i].row.at_peak_bytes;
		}
	}
}

static int fill_rows(struct hk_report *report, const Hk__Snapshot *snapshot,
		     const struct hk_report_clock *clocks)
{
	size_t count = 0, used = 0;
	int r = 0;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		count += snapshot->processes[i]->n_memory;
	}
	struct part *parts = calloc(count + 1, sizeof(*parts));
	report->memory = calloc(count + 1, sizeof(*report->memory));
	if (!parts || !report->memory) {
		free(parts);
		return -ENOMEM;
	}
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];
		for (size_t m = 0; m < process->n_memory && r == 0; m++) {
			parts[used].process = i;
			r = part_fill(report, process, process->memory[m], &clocks[i],
				      &parts[used++].row);
		}
	}
	if (r == 0) {
		qsort(parts, used, sizeof(*parts), by_row_and_process);
		join(report, parts, used);
	}
	free(parts);
	return r;
}

/* ---- over time ---- */

static bool same_series(const Hk__MemorySeries *a, const Hk__MemorySeries *b)
{
	return a->device == b->device && strcmp(a->kind, b->kind) == 0;
}

static int by_series_and_part(const void *a, const void *b)
{
	const Hk__MemorySeries *x = *(Hk__MemorySeries *const *)a;
	const Hk__MemorySeries *y = *(Hk__MemorySeries *const *)b;
	if (x->device != y->device) {
		return x->device < y->device ? -1 : 1;
	}
	int order = strcmp(x->kind, y->kind);
	return order ? order : (x->part > y->part) - (x->part < y->part);
}

static bool is_sound(const Hk__MemorySeries *part)
{
	return part->shift <= SHIFT_MAX && part->n_max_bytes == part->n_last_bytes &&
	       part->n_max_bytes > 0 && part->n_max_bytes <= PART_BINS;
}

static void append(struct hk_report_memory_series *to, const Hk__MemorySeries *part)
{
	memcpy(to->max_bytes + to->count, part->max_bytes,
	       part->n_max_bytes * sizeof(*to->max_bytes));
	memcpy(to->last_bytes + to->count, part->last_bytes,
	       part->n_max_bytes * sizeof(*to->last_bytes));
	to->count += part->n_max_bytes;
}

/* Returns the width in ns of each of COUNT bins from the start of PART, on CLOCK. A clock map
 * changes the width: the clock of another node runs at another rate than the root's. */
static uint64_t width_ns(const struct hk_report_clock *clock, const Hk__MemorySeries *part,
			 uint64_t count)
{
	const uint64_t end = part->start_ticks + (count << part->shift);
	const int64_t start_ns = hk_report_clock_ns(clock, part->start_ticks);
	const int64_t end_ns = end > part->start_ticks ? hk_report_clock_ns(clock, end) : INT64_MAX;
	const unsigned __int128 ns = (unsigned __int128)((__int128)end_ns - start_ns);
	const uint64_t width = count > 0 ? (uint64_t)((ns + count / 2) / count) : 0;

	return width > 0 ? width : 1;
}

/* Fills the series that begins with PARTS[0] from the parts that belong to it. Returns 0 or
 * -ENOMEM. */
static int series_fill(struct hk_report *report, const Hk__Process *process,
		       const struct hk_report_clock *clock, Hk__MemorySeries *const *parts,
		       size_t count)
{
	struct hk_report_memory_series *to = &report->memory_series[report->memory_series_count++];
	const Hk__Anchor *last = process->end ? process->end : process->seen;
	const Hk__MemorySeries *first = parts[0];

	to->rank = hk_report_rank_of(process);
	to->role = hk_report_role_of(process);
	to->pid = process->pid;
	to->device = first->device;
	to->kind = hk_report_strings_get(&report->strings, first->kind);
	to->start_ns = hk_report_clock_ns(clock, first->start_ticks);
	to->end_ns = last ? hk_report_clock_ns(clock, last->ticks) : to->start_ns;
	to->max_bytes = calloc(HK_REPORT_SERIES_BINS, sizeof(*to->max_bytes));
	to->last_bytes = calloc(HK_REPORT_SERIES_BINS, sizeof(*to->last_bytes));
	if (!to->kind || !to->max_bytes || !to->last_bytes) {
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count && i < PARTS_MAX && to->count == i * PART_BINS; i++) {
		if (!same_series(parts[i], first) || parts[i]->part != i || !is_sound(parts[i]) ||
		    parts[i]->start_ticks != first->start_ticks ||
		    parts[i]->shift != first->shift) {
			break;
		}
		append(to, parts[i]);
	}
	to->width_ns = width_ns(clock, first, to->count);
	return 0;
}

static int process_series(struct hk_report *report, const Hk__Process *process,
			  const struct hk_report_clock *clock)
{
	size_t count = process->n_memory_series;
	Hk__MemorySeries **parts = malloc((count + 1) * sizeof(*parts));
	int r = parts ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r == 0; i++) {
		parts[i] = process->memory_series[i];
	}
	if (r == 0) {
		qsort(parts, count, sizeof(*parts), by_series_and_part);
	}
	for (size_t i = 0; i < count && r == 0; i++) {
		bool begins = i == 0 || !same_series(parts[i - 1], parts[i]);
		if (begins && parts[i]->part == 0 && is_sound(parts[i])) {
			r = series_fill(report, process, clock, parts + i, count - i);
		}
	}
	free(parts);
	return r;
}

static int by_rank_and_start(const void *a, const void *b)
{
	const struct hk_report_memory_series *x = a, *y = b;
	int order = by_rank_and_role(x->rank, x->role, y->rank, y->role);

	if (order == 0 && x->device != y->device) {
		order = x->device < y->device ? -1 : 1;
	}
	order = order ? order : strcmp(x->kind, y->kind);
	if (order == 0 && x->start_ns != y->start_ns) {
		order = x->start_ns < y->start_ns ? -1 : 1;
	}
	return order ? order : (x->pid > y->pid) - (x->pid < y->pid);
}

static int fill_series(struct hk_report *report, const Hk__Snapshot *snapshot,
		       const struct hk_report_clock *clocks)
{
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];
		for (size_t k = 0; k < process->n_memory_series; k++) {
			count += process->memory_series[k]->part == 0;
		}
	}
	report->memory_series = calloc(count + 1, sizeof(*report->memory_series));
	if (!report->memory_series) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < snapshot->n_processes && r == 0; i++) {
		r = process_series(report, snapshot->processes[i], &clocks[i]);
	}
	qsort(report->memory_series, report->memory_series_count, sizeof(*report->memory_series),
	      by_rank_and_start);
	return r;
}

int hk_report_memory_fill(struct hk_report *report, const Hk__Snapshot *snapshot,
			  const struct hk_report_clock *clocks)
{
	int r = fill_rows(report, snapshot, clocks);

	return r < 0 ? r : fill_series(report, snapshot, clocks);
}
