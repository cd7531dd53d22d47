#include "collector/process/cost.h"

#include "collector/model/attachment.h"
#include "collector/model/process.h"
#include "hooks/hook.h"
#include "ring/sample.h"
#include "wire/columns.h"

/* Costs for agents that did not measure them. */
#define COUNT_PS 1000u
#define RECORD_EXTRA_PS 8000u
/* A call at record+args over one at level record: the registers are saved and every argument is
 * decoded. The process does not measure it; on x86-64 such calls took 190 to 220 ns where it
 * measured 52 for a record. */
#define ARGS_PER_RECORD 4u
/* The same at record+stack. A known stack takes 7 to 8 ns a frame: with 25 frames such calls took
 * 300 ns, with 50 frames 480 ns, where a record took 33 ns. */
#define STACK_PER_RECORD 12u
#define SAMPLE_PERIOD 64u /* as in agent/frame/site.c */

/* Calls up to ROW_NS apart are in a row. From SPREAD_NS on, one call in four is, because programs
 * call in bursts. From COLD_NS on, the processor has forgotten the agent's code, data and branches.
 * The process does not measure what a call costs then: in LAMMPS, whose ranks make a call every
 * 5 us, a rank took 66 ns a call where the process had measured 50 to 60 for calls in a row. */
#define ROW_NS 200.0
#define SPREAD_NS 1000.0
#define SPREAD_IN_ROW 0.25
#define WARM_NS 2000.0
#define COLD_NS 4000.0
#define COLD_TIMES 1.4

static uint64_t count_ps(const struct hk_segment_status *status)
{
	return status->count_cost_ps ? status->count_cost_ps : COUNT_PS;
}

static uint64_t record_extra_ps(const struct hk_segment_status *status)
{
	if (!status->record_cost_ps) {
		return RECORD_EXTRA_PS;
	}
	return status->record_cost_ps > status->call_cost_ps
		   ? status->record_cost_ps - status->call_cost_ps
		   : 0;
}

/* Returns the cost at level time. The agent chooses the way in and out in agent/frame/site.c. */
static uint64_t time_ps(const struct hk_segment_status *status, struct hk_cost_site site)
{
	bool described = site.flags & HK_HOOK_DESCRIBED;
	bool ordered = (site.flags & HK_HOOK_SHORT) || !described;
	return status->call_cost_ps + (ordered ? status->ordered_extra_ps : 0) +
	       (described ? 0 : status->copy_extra_ps);
}

static uint64_t record_ps(const struct hk_segment_status *status, struct hk_cost_site site)
{
	return time_ps(status, site) + record_extra_ps(status) +
	       (uint64_t)site.values * status->value_extra_ps;
}

/* What a call at LEVEL costs, in calls at level record. */
static uint64_t records_of(uint32_t level)
{
	return level == HK_LEVEL_STACK ? STACK_PER_RECORD : ARGS_PER_RECORD;
}

/* How much of the way from LOW to HIGH VALUE has gone, from 0 to 1. */
static double way(double value, double low, double high)
{
	return value <= low ? 0 : value >= high ? 1 : (value - low) / (high - low);
}

/* Returns what calls cost at GAP_NS. PS is what the process measured for them, the mean of calls in
 * a row and calls with work between them; ROW_PS is what they cost more in a row. */
static double at_gap(double ps, double row_ps, double gap_ns)
{
	double cold = way(gap_ns, WARM_NS, COLD_NS);
	double in_row = 1 - (1 - SPREAD_IN_ROW) * way(gap_ns, ROW_NS, SPREAD_NS);
	double in_row_ps = ps + row_ps, spread_ps = ps > row_ps ? ps - row_ps : 0;
	return (1 - cold) * (in_row * in_row_ps + (1 - in_row) * spread_ps) +
	       cold * COLD_TIMES * in_row_ps;
}

static uint64_t timed_ps(const struct hk_segment_status *status, uint64_t ps, uint64_t gap_ns)
{
	return (uint64_t)(at_gap((double)ps, status->row_extra_ps, (double)gap_ns) + 0.5);
}

uint64_t hk_cost_call_ps(const struct hk_segment_status *status, struct hk_cost_site site,
			 uint8_t level, uint64_t gap_ns)
{
	uint64_t record = timed_ps(status, record_ps(status, site), gap_ns);
	switch (level) {
	case HK_LEVEL_OFF:
		return 0;
	case HK_LEVEL_COUNT:
		return count_ps(status);
	case HK_LEVEL_SAMPLE:
		/* The countdown is another increment and a branch. */
		return 2 * count_ps(status) +
		       timed_ps(status, time_ps(status, site), gap_ns) / SAMPLE_PERIOD;
	case HK_LEVEL_TIME:
		return timed_ps(status, time_ps(status, site), gap_ns);
	case HK_LEVEL_RECORD:
		return record;
	default:
		return records_of(level) * record;
	}
}

/* Returns site SITE of a process, or NULL if it is unknown. Sites are in the order of their ids. */
static const Hk__Site *find_site(const Hk__Process *state, uint32_t site)
{
	size_t low = 0, high = state->n_sites;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (state->sites[middle]->id < site) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < state->n_sites && state->sites[low]->id == site ? state->sites[low] : NULL;
}

/* Sums in double, because a hostile count would overflow 64 bits. */
struct sums {
	double counted_ps;   /* of calls that were not timed */
	double timed;	     /* calls */
	double time_ps;	     /* of those, as if none left a record */
	double values_ps;    /* as if all timed calls left a record */
	double arguments_ps; /* and stacks, where they were taken */
};

static void add_cell(struct sums *sums, const struct hk_process *process,
		     const struct hk_columns_row *cell)
{
	const struct hk_segment_status *status = &process->segment->status;
	const Hk__Site *known = find_site(process->state, cell->site);
	struct hk_cost_site site = {.flags = HK_HOOK_DESCRIBED};
	uint64_t in_histogram = 0;
	for (size_t k = 0; k < cell->buckets; k++) {
		in_histogram += cell->count[k];
	}
	double timed = (double)hk_sample_timed(in_histogram, cell->sampled);
	if (known) {
		site = (struct hk_cost_site){known->flags, (unsigned)known->n_keys};
	}
	double counted = (double)cell->calls > timed ? (double)cell->calls - timed : 0;
	sums->timed += timed;
	sums->counted_ps += counted * (double)count_ps(status);
	sums->time_ps += timed * (double)time_ps(status, site);
	sums->values_ps += timed * site.values * (double)status->value_extra_ps;
	if (known && known->level >= HK_LEVEL_ARGS) {
		double stacks = (double)cell->stacks < timed ? (double)cell->stacks : timed;
		sums->arguments_ps += (timed * (ARGS_PER_RECORD - 1) +
				       stacks * (STACK_PER_RECORD - ARGS_PER_RECORD)) *
				      (double)record_ps(status, site);
	}
}

/* Returns the processor time of STATE's process for each of its timed calls. The time inside of
 * calls is part of it, because a function uses the caches as its caller does. */
static double gap_ns(const Hk__Process *state, const struct sums *sums)
{
	return sums->timed > 0 ? (double)state->cpu_ns / sums->timed : 0;
}

uint64_t hk_cost_total_ns(const struct hk_process *process)
{
	const struct hk_segment_status *status = &process->segment->status;
	const Hk__Process *state = process->state;
	struct hk_columns_walk walk = {.columns = state->cells};
	struct hk_columns_row cell;
	struct sums sums = {0};
	while (hk_columns_next(&walk, &cell)) {
		add_cell(&sums, process, &cell);
	}
	/* For a site whose level changed, it is unknown which calls left records. */
	double records = (double)state->records;
	double share = records < sums.timed ? records / sums.timed : 1;
	double timed_ps = sums.time_ps + records * (double)record_extra_ps(status) +
			  share * sums.values_ps + sums.arguments_ps;
	double ps = sums.counted_ps +
		    at_gap(timed_ps, sums.timed * status->row_extra_ps, gap_ns(state, &sums)) +
		    (double)state->lost_records * (double)status->lost_extra_ps;
	return status->setup_ns + status->looks_ns +
	       (ps < 1e21 ? (uint64_t)(ps / 1000) : UINT64_MAX / 1000);
}
