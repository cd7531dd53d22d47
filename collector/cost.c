#include "collector/cost.h"

#include "hooks/hook.h"
#include "wire/columns.h"

/* For agents that did not measure these two. */
#define COUNT_PS 1000u
#define RECORD_EXTRA_PS 8000u
/* A call at record+args over one at level record: the registers are saved and every argument is
 * decoded. The process does not measure it; on x86-64 such calls took 190 to 220 ns where it
 * measured 52 for a record. */
#define ARGS_PER_RECORD 4u
#define SAMPLE_PERIOD 64u /* of the agent: agent/frame/site.c */

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

static uint64_t record_ps(const struct hk_segment_status *status)
{
	return status->call_cost_ps + record_extra_ps(status);
}

uint64_t hk_cost_call_ps(const struct hk_segment_status *status, uint8_t level)
{
	switch (level) {
	case HK_LEVEL_OFF:
		return 0;
	case HK_LEVEL_COUNT:
		return count_ps(status);
	case HK_LEVEL_SAMPLE:
		/* The countdown is another increment and a branch. */
		return 2 * count_ps(status) + status->call_cost_ps / SAMPLE_PERIOD;
	case HK_LEVEL_TIME:
		return status->call_cost_ps;
	case HK_LEVEL_RECORD:
		return record_ps(status);
	default:
		return ARGS_PER_RECORD * record_ps(status);
	}
}

/* Whether SITE keeps arguments now; sites stand in the order of their ids. */
static bool keeps_arguments(const Hk__Process *state, uint32_t site)
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
	return low < state->n_sites && state->sites[low]->id == site &&
	       state->sites[low]->level >= HK_LEVEL_ARGS;
}

uint64_t hk_cost_total_ns(const struct hk_process *process)
{
	const Hk__Process *state = process->state;
	struct hk_columns_walk walk = {.columns = state->cells};
	struct hk_columns_row cell;
	uint64_t timed = 0, counted = 0, with_arguments = 0;
	while (hk_columns_next(&walk, &cell)) {
		uint64_t in_buckets = 0;
		for (size_t k = 0; k < cell.buckets; k++) {
			in_buckets += cell.count[k];
		}
		timed += in_buckets;
		with_arguments += keeps_arguments(state, cell.site) ? in_buckets : 0;
		counted += cell.calls > in_buckets ? cell.calls - in_buckets : 0;
	}
	uint64_t arguments_extra_ps = hk_cost_call_ps(&process->status, HK_LEVEL_ARGS) -
				      hk_cost_call_ps(&process->status, HK_LEVEL_RECORD);
	/* In double: none of the products fits 64 bits for a hostile count. */
	double ps = (double)timed * (double)process->status.call_cost_ps +
		    (double)counted * (double)count_ps(&process->status) +
		    (double)state->records * (double)record_extra_ps(&process->status) +
		    (double)with_arguments * (double)arguments_extra_ps;
	return process->status.setup_ns + (ps < 1e21 ? (uint64_t)(ps / 1000) : UINT64_MAX / 1000);
}
