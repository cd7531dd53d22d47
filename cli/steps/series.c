#include "cli/steps/series.h"

#include <errno.h>
#include <stdlib.h>

#define BINS_FIRST 32u

static void merge(struct hk_step_bin *bin, const struct hk_step_bin *next)
{
	bin->duration_ns += next->duration_ns;
	bin->own_ns += next->own_ns;
	bin->steps += next->steps;
}

static void halve(struct hk_step_series *series)
{
	size_t count = 0;

	for (size_t i = 0; i < series->count; i += 2) {
		series->bins[count] = series->bins[i];
		if (i + 1 < series->count) {
			merge(&series->bins[count], &series->bins[i + 1]);
		}
		count++;
	}
	series->count = count;
	series->width *= 2;
}

/* Makes room for one more bin. Returns 0 or -ENOMEM. */
static int grow(struct hk_step_series *series)
{
	if (series->count < series->room) {
		return 0;
	}
	size_t room = series->room > 0 ? 2 * series->room : BINS_FIRST;
	struct hk_step_bin *bins = reallocarray(series->bins, room, sizeof(*bins));
	if (!bins) {
		return -ENOMEM;
	}
	series->bins = bins;
	series->room = room;
	return 0;
}

int hk_step_series_add(struct hk_step_series *series, uint64_t begin_ns, double duration_ns,
		       double own_ns)
{
	const struct hk_step_bin step = {begin_ns, duration_ns, own_ns, 1};

	series->width = series->width > 0 ? series->width : 1;
	series->steps++;
	if (series->count > 0 && series->bins[series->count - 1].steps < series->width) {
		merge(&series->bins[series->count - 1], &step);
		return 0;
	}
	if (series->count == HK_STEP_BINS) {
		halve(series);
	}
	if (grow(series) < 0) {
		return -ENOMEM;
	}
	series->bins[series->count++] = step;
	return 0;
}

void hk_step_series_widen(struct hk_step_series *series, uint32_t width)
{
	while (series->width > 0 && series->width < width) {
		halve(series);
	}
}

void hk_step_series_fini(struct hk_step_series *series)
{
	free(series->bins);
	*series = (struct hk_step_series){0};
}
