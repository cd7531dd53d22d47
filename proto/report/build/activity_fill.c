#include "report/build/activity_fill.h"

#include "report/model/role.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PART_BINS 16u
#define PARTS_MAX (HK_REPORT_SERIES_BINS / PART_BINS)
/* Limit of a bin's width, which is 2^shift ticks: 256 bins of 2^56 ticks hold all 64-bit times. */
#define SHIFT_MAX 56u

static int by_row_and_part(const void *a, const void *b)
{
	const Hk__Activity *x = *(Hk__Activity *const *)a, *y = *(Hk__Activity *const *)b;

	if (x->kind != y->kind) {
		return x->kind < y->kind ? -1 : 1;
	}
	int order = strcmp(x->domain, y->domain);
	return order ? order : (x->part > y->part) - (x->part < y->part);
}

static bool is_sound(const Hk__Activity *part)
{
	return part->shift <= SHIFT_MAX && part->n_value > 0 && part->n_value <= PART_BINS;
}

static bool follows(const Hk__Activity *part, const Hk__Activity *first)
{
	return part->kind == first->kind && strcmp(part->domain, first->domain) == 0 &&
	       is_sound(part) && part->start_ticks == first->start_ticks &&
	       part->shift == first->shift;
}

static double width_ns(const struct hk_report_clock *clock, uint32_t shift)
{
	unsigned __int128 ns_q32 = (unsigned __int128)clock->tick_ns_q32 << shift;

	return ns_q32 > 0 ? (double)ns_q32 / 4294967296.0 : 1;
}

/* Fills the row that begins with PARTS[0] from its parts. Returns 0 or -ENOMEM. */
static int row_fill(struct hk_report *report, const Hk__Process *process,
		    const struct hk_report_clock *clock, Hk__Activity *const *parts, size_t count)
{
	struct hk_report_activity *to = &report->activity[report->activity_count++];
	const Hk__Anchor *last = process->end ? process->end : process->seen;
	const Hk__Activity *first = parts[0];
	double sum = 0;

	to->rank = hk_report_rank_of(process);
	to->kind = first->kind;
	to->domain = hk_report_strings_get(&report->strings, first->domain);
	to->start_ns = (double)hk_report_clock_ns(clock, first->start_ticks);
	to->width_ns = width_ns(clock, first->shift);
	to->end_ns = last ? (double)hk_report_clock_ns(clock, last->ticks) : to->start_ns;
	to->sum = calloc(HK_REPORT_SERIES_BINS, sizeof(*to->sum));
	if (!to->domain || !to->sum) {
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count && i < PARTS_MAX && to->count == i * PART_BINS; i++) {
		if (parts[i]->part != i || !follows(parts[i], first)) {
			break;
		}
		for (size_t k = 0; k < parts[i]->n_value; k++) {
			sum += (double)parts[i]->value[k];
			to->sum[to->count++] = sum;
		}
	}
	return 0;
}

static int process_fill(struct hk_report *report, const Hk__Process *process,
			const struct hk_report_clock *clock)
{
	size_t count = process->n_activity;
	Hk__Activity **parts = malloc((count + 1) * sizeof(*parts));
	int r = parts ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r == 0; i++) {
		parts[i] = process->activity[i];
	}
	if (r == 0) {
		qsort(parts, count, sizeof(*parts), by_row_and_part);
	}
	for (size_t i = 0; i < count && r == 0; i++) {
		bool begins = parts[i]->part == 0 && is_sound(parts[i]);
		if (begins && (i == 0 || !follows(parts[i - 1], parts[i]))) {
			r = row_fill(report, process, clock, parts + i, count - i);
		}
	}
	free(parts);
	return r;
}

static int by_rank_and_row(const void *a, const void *b)
{
	const struct hk_report_activity *x = a, *y = b;

	if (x->rank != y->rank) {
		return x->rank < y->rank ? -1 : 1;
	}
	if (x->kind != y->kind) {
		return x->kind < y->kind ? -1 : 1;
	}
	int order = strcmp(x->domain, y->domain);
	return order ? order : (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

int hk_report_activity_fill(struct hk_report *report, const Hk__Snapshot *snapshot,
			    const struct hk_report_clock *clocks)
{
	size_t count = 0;
	int r = 0;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		for (size_t k = 0; k < snapshot->processes[i]->n_activity; k++) {
			count += snapshot->processes[i]->activity[k]->part == 0;
		}
	}
	report->activity = calloc(count + 1, sizeof(*report->activity));
	if (!report->activity) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < snapshot->n_processes && r == 0; i++) {
		if (strcmp(hk_report_role_of(snapshot->processes[i]), "main") == 0) {
			r = process_fill(report, snapshot->processes[i], &clocks[i]);
		}
	}
	qsort(report->activity, report->activity_count, sizeof(*report->activity), by_rank_and_row);
	return r;
}
