#include "collector/metrics/page.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/metrics/aggregate.h"
#include "collector/metrics/walk.h"

static void write_labels(struct hk_exposition *exposition, const struct hk_series *series)
{
	for (uint32_t i = 0; i < series->labels; i++) {
		hk_exposition_label(exposition, series->label[i].name, series->label[i].value);
	}
}

static void write_sample(struct hk_exposition *exposition, const struct hk_series *series,
			 const char *suffix, enum hk_metric_unit unit, uint64_t value)
{
	hk_exposition_sample(exposition, series->metric->name, series->metric->type, suffix);
	write_labels(exposition, series);
	hk_exposition_value(exposition, unit, value);
}

static void write_histogram(struct hk_exposition *exposition, const struct hk_series *series)
{
	const struct hk_metric *metric = series->metric;
	uint64_t count = 0;
	for (uint32_t i = 0; i <= HK_AGGREGATE_BOUNDS; i++) {
		char bound[32] = "+Inf";
		if (i < HK_AGGREGATE_BOUNDS) {
			hk_exposition_seconds(bound, UINT64_C(1) << (HK_AGGREGATE_BOUND_FIRST + i));
		}
		count += series->value[i];
		hk_exposition_sample(exposition, metric->name, metric->type, "_bucket");
		write_labels(exposition, series);
		hk_exposition_label(exposition, "le", bound);
		hk_exposition_value(exposition, HK_METRIC_NONE, count);
	}
	write_sample(exposition, series, "_count", HK_METRIC_NONE, count);
	write_sample(exposition, series, "_sum", metric->unit,
		     series->value[HK_AGGREGATE_BOUNDS + 1]);
}

static void write_series(void *context, const struct hk_series *series)
{
	struct hk_exposition *exposition = context;
	const struct hk_metric *metric = series->metric;
	if (series->first) {
		hk_exposition_family(exposition, metric->name, metric->type, metric->unit,
				     metric->help);
	}
	if (metric->type == HK_METRIC_HISTOGRAM) {
		write_histogram(exposition, series);
	} else {
		write_sample(exposition, series, "", metric->unit, series->value[0]);
	}
}

int hk_metrics_render(struct hk_collector *collector, const char *user,
		      enum hk_exposition_format format, char **ret_text, size_t *ret_size)
{
	struct hk_exposition exposition = {.format = format};
	char *text = NULL;
	exposition.output = open_memstream(&text, ret_size);
	if (!exposition.output) {
		return -ENOMEM;
	}
	int r = hk_metrics_walk(collector, user, write_series, &exposition);
	hk_exposition_end(&exposition);
	bool failed = ferror(exposition.output) != 0;
	failed |= fclose(exposition.output) != 0;
	r = r == 0 && failed ? -ENOMEM : r;
	if (r < 0) {
		free(text);
		return r;
	}
	*ret_text = text;
	return 0;
}
