#include "collector/left_out.h"

/* Lists of a process that an answer has only on request. */
static void series_of(Hk__Process *process, size_t *ret_counts[HK_LEFT_OUT_SERIES])
{
	ret_counts[0] = &process->n_memory_series;
	ret_counts[1] = &process->n_activity;
	ret_counts[2] = &process->n_stack_objects;
	ret_counts[3] = &process->n_stack_frames;
	ret_counts[4] = &process->n_python_functions;
	ret_counts[5] = &process->n_stack_places;
	ret_counts[6] = &process->n_kernels;
	ret_counts[7] = &process->n_agreed;
}

void hk_left_out_take(Hk__Snapshot *snapshot, const Hk__SnapshotRequest *request,
		      struct hk_left_out *ret_left_out)
{
	size_t *series[HK_LEFT_OUT_SERIES];

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		Hk__Process *process = snapshot->processes[i];
		Hk__Cells *cells = process->cells;
		if (cells) {
			ret_left_out[i].buckets = cells->n_buckets;
			ret_left_out[i].counted = cells->n_bucket;
		}
		if (cells && request->no_histograms) {
			cells->n_buckets = cells->n_bucket = cells->n_count = 0;
		}
		series_of(process, series);
		for (size_t k = 0; k < HK_LEFT_OUT_SERIES; k++) {
			ret_left_out[i].series[k] = *series[k];
			*series[k] = request->memory_series ? *series[k] : 0;
		}
	}
}

void hk_left_out_restore(Hk__Snapshot *snapshot, const struct hk_left_out *left_out)
{
	size_t *series[HK_LEFT_OUT_SERIES];

	for (size_t i = 0; i < snapshot->n_processes; i++) {
		Hk__Cells *cells = snapshot->processes[i]->cells;
		if (cells) {
			cells->n_buckets = left_out[i].buckets;
			cells->n_bucket = cells->n_count = left_out[i].counted;
		}
		series_of(snapshot->processes[i], series);
		for (size_t k = 0; k < HK_LEFT_OUT_SERIES; k++) {
			*series[k] = left_out[i].series[k];
		}
	}
}
