#include "collector/memory/series.h"

/* Joins each two bins to one. */
static void widen(struct hk_series *series)
{
	for (uint32_t i = 0; i < series->count; i++) {
		uint64_t max = series->max_bytes[i];
		uint32_t to = i / 2;
		if (i % 2 == 0 || max > series->max_bytes[to]) {
			series->max_bytes[to] = max;
		}
		series->last_bytes[to] = series->last_bytes[i];
	}
	series->count = (series->count + 1) / 2;
	series->shift++;
}

void hk_series_add(struct hk_series *series, uint64_t ticks, uint64_t bytes)
{
	if (series->count == 0) {
		series->start_ticks = ticks;
		series->shift = HK_SERIES_SHIFT_MIN;
		series->count = 1;
		series->max_bytes[0] = series->last_bytes[0] = bytes;
		return;
	}
	uint64_t since = ticks > series->start_ticks ? ticks - series->start_ticks : 0;
	while (since >> series->shift >= HK_SERIES_BINS) {
		widen(series);
	}
	uint64_t bin = since >> series->shift;
	uint64_t before = series->last_bytes[series->count - 1];
	while (series->count <= bin) {
		series->max_bytes[series->count] = series->last_bytes[series->count] = before;
		series->count++;
	}
	uint32_t last = series->count - 1;
	series->last_bytes[last] = bytes;
	series->max_bytes[last] = bytes > series->max_bytes[last] ? bytes : series->max_bytes[last];
}
