#include "report/clock.h"

#include <errno.h>
#include <stdlib.h>

#include "report/strings.h"

/* Anchors closer than this say less about the tick than the process's own calibration. */
#define SPAN_MIN_NS 10000000u

/* 256 ns to the tick: no clock is that slow. */
#define TICK_Q32_MAX (1ull << 40)

/* What one host's monotonic clock read at the job's start, from its earliest process. */
struct host {
	uint64_t earliest_ns;
	uint64_t real_minus_monotonic_ns;
};

uint64_t hk_report_clock_origin(const Hk__Snapshot *snapshot)
{
	uint64_t origin = snapshot->job ? snapshot->job->start_unix_ns : 0;

	for (size_t i = 0; origin == 0 && i < snapshot->n_processes; i++) {
		const Hk__Anchor *start = snapshot->processes[i]->start;
		if (start && (origin == 0 || start->realtime_ns < origin)) {
			origin = start->realtime_ns;
		}
	}
	return origin;
}

/* ns per tick between the anchors, if they agree with the process's own figure within 1 %. */
static uint64_t refined_q32(const Hk__Process *process)
{
	uint64_t own = process->tick_ns_q32;
	if (own == 0 || own > TICK_Q32_MAX) {
		own = 1ull << 32;
	}
	const Hk__Anchor *from = process->start;
	const Hk__Anchor *to = process->end ? process->end : process->seen;

	if (!from || !to || to->ticks <= from->ticks ||
	    to->monotonic_ns < from->monotonic_ns + SPAN_MIN_NS ||
	    to->monotonic_ns < from->monotonic_ns) {
		return own;
	}
	unsigned __int128 span = (unsigned __int128)(to->monotonic_ns - from->monotonic_ns) << 32;
	unsigned __int128 measured = span / (to->ticks - from->ticks);
	uint64_t tolerance = own / 100;
	if (measured + tolerance < own || measured > (unsigned __int128)own + tolerance) {
		return own;
	}
	return (uint64_t)measured;
}

/* Finds each process's host; hosts[index[i]] belongs to process i. */
static int hosts_fill(const Hk__Snapshot *snapshot, struct host *hosts, uint32_t *index)
{
	struct hk_report_strings names = {0};
	int r = 0;

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];
		int64_t ordinal = hk_report_strings_ordinal(&names, process->host);
		if (ordinal < 0) {
			r = (int)ordinal;
			break;
		}
		index[i] = (uint32_t)ordinal;
		struct host *host = &hosts[ordinal];
		const Hk__Anchor *start = process->start;
		if (start && (host->earliest_ns == 0 || start->monotonic_ns < host->earliest_ns)) {
			host->earliest_ns = start->monotonic_ns;
			host->real_minus_monotonic_ns = start->realtime_ns - start->monotonic_ns;
		}
	}
	hk_report_strings_fini(&names);
	return r;
}

int hk_report_clock_all(const Hk__Snapshot *snapshot, struct hk_report_clock **ret_clocks)
{
	size_t count = snapshot->n_processes;
	struct hk_report_clock *clocks = calloc(count + 1, sizeof(*clocks));
	struct host *hosts = calloc(count + 1, sizeof(*hosts));
	uint32_t *index = calloc(count + 1, sizeof(*index));
	uint64_t origin = hk_report_clock_origin(snapshot);
	int r = clocks && hosts && index ? hosts_fill(snapshot, hosts, index) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < count; i++) {
		const Hk__Process *process = snapshot->processes[i];
		clocks[i].tick_ns_q32 = refined_q32(process);
		if (process->start) {
			clocks[i].ticks = process->start->ticks;
			clocks[i].since_ns =
			    (int64_t)(process->start->monotonic_ns +
				      hosts[index[i]].real_minus_monotonic_ns - origin);
		}
	}
	free(hosts);
	free(index);
	if (r < 0) {
		free(clocks);
		return r;
	}
	*ret_clocks = clocks;
	return 0;
}

int64_t hk_report_clock_ns(const struct hk_report_clock *clock, uint64_t ticks)
{
	__int128 distance = (__int128)ticks - (__int128)clock->ticks;
	__int128 ns = ((distance * (__int128)clock->tick_ns_q32) >> 32) + clock->since_ns;

	if (ns > INT64_MAX) {
		return INT64_MAX;
	}
	return ns < INT64_MIN ? INT64_MIN : (int64_t)ns;
}
