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

uint64_t hk_cost_call_ps(const struct hk_segment_status *status, struct hk_cost_site site,
			 uint8_t level)
{
	switch (level) {
	case HK_LEVEL_OFF:
		return 0;
	case HK_LEVEL_COUNT:
		return count_ps(status);
	case HK_LEVEL_SAMPLE:
		/* The countdown is another increment and a branch. */
		return 2 * count_ps(status) + time_ps(status, site) / SAMPLE_PERIOD;
	case HK_LEVEL_TIME:
		return time_ps(status, site);
	case HK_LEVEL_RECORD:
		return record_ps(status, site);
	default:
		return records_of(level) * record_ps(status, site);
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
	double time_ps;	     /* of all calls, as if none left a record */
	double timed;	     /* calls */
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
	sums->time_ps += timed * (double)time_ps(status, site) + counted * (double)count_ps(status);
	sums->values_ps += timed * site.values * (double)status->value_extra_ps;
	if (known && known->level >= HK_LEVEL_ARGS) {
		double stacks = (double)cell->stacks < timed ? (double)cell->stacks : timed;
		sums->arguments_ps += (timed * (ARGS_PER_RECORD - 1) +
				       stacks * (STACK_PER_RECORD - ARGS_PER_RECORD)) *
				      (double)record_ps(status, site);
	}
}

uint64_t hk_cost_total_ns(const struct hk_process *process)
{
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
	double ps = sums.time_ps + records * (double)record_extra_ps(&process->segment->status) +
		    share * sums.values_ps + sums.arguments_ps +
		    (double)state->lost_records * (double)process->segment->status.lost_extra_ps;
	return process->segment->status.setup_ns + process->segment->status.looks_ns +
	       (ps < 1e21 ? (uint64_t)(ps / 1000) : UINT64_MAX / 1000);
}
