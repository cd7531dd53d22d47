#include "collector/trigger/window.h"

static uint64_t less(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

void hk_window_between(struct hk_window *window, const struct hk_columns_row *now,
		       const struct hk_columns_row *before)
{
	size_t old = 0;
	window->calls = less(now->calls, before ? before->calls : 0);
	window->errors = less(now->errors, before ? before->errors : 0);
	window->total_ns = less(now->total_ns, before ? before->total_ns : 0);
	window->timed = 0;
	window->buckets = 0;
	for (size_t i = 0; i < now->buckets; i++) {
		uint32_t bucket = now->bucket[i];
		while (before && old < before->buckets && before->bucket[old] < bucket) {
			old++;
		}
		bool same = before && old < before->buckets && before->bucket[old] == bucket;
		uint64_t count = less(now->count[i], same ? before->count[old] : 0);
		if (count > 0 && window->buckets < HK_HISTOGRAM_BUCKETS) {
			window->bucket[window->buckets] = bucket;
			window->count[window->buckets++] = count;
			window->timed += count;
		}
	}
}

double hk_window_value(const struct hk_window *window, enum hk_condition_statistic statistic)
{
	if (statistic == HK_CONDITION_MEAN) {
		return (double)window->total_ns / (double)window->timed;
	}
	return (double)hk_histogram_sparse_quantile(window->bucket, window->count, window->buckets,
						    hk_condition_quantile(statistic));
}
