#include "report/findings/spread.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OUTLIER_DEVIATIONS 5
#define OUTLIER_SHARE 0.05

static const char *const titles[HK_FIGURES] = {
    [HK_FIGURE_WALL] = "wall s",	[HK_FIGURE_MPI] = "MPI s",
    [HK_FIGURE_MPI_SHARE] = "MPI %",	[HK_FIGURE_SENT] = "sent",
    [HK_FIGURE_HEAP] = "heap peak",	[HK_FIGURE_RSS] = "RSS",
    [HK_FIGURE_DEVICE] = "device peak",
};

static struct hk_rank_figures *find(struct hk_rank_figures *figures, size_t count, int32_t rank)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (figures[middle].rank < rank) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < count && figures[low].rank == rank ? &figures[low] : NULL;
}

static void calls_add(struct hk_rank_figures *figures, const struct hk_report *report)
{
	for (size_t i = 0; i < report->call_count; i++) {
		const struct hk_report_call *call = &report->calls[i];
		struct hk_rank_figures *rank = find(figures, report->rank_count, call->rank);
		if (rank && strcmp(call->role, "main") == 0 && strcmp(call->domain, "mpi") == 0) {
			rank->value[HK_FIGURE_MPI] += (double)call->numbers.outermost_ns;
			rank->value[HK_FIGURE_SENT] += (double)call->numbers.bytes;
		}
	}
}

static void memory_add(struct hk_rank_figures *figures, const struct hk_report *report)
{
	for (size_t i = 0; i < report->memory_count; i++) {
		const struct hk_report_memory *memory = &report->memory[i];
		struct hk_rank_figures *rank = find(figures, report->rank_count, memory->rank);
		double peak = (double)memory->peak_bytes;
		if (!rank || strcmp(memory->role, "main") != 0 ||
		    strcmp(memory->library, "*") != 0) {
			continue;
		}
		if (strcmp(memory->kind, "heap") == 0) {
			rank->value[HK_FIGURE_HEAP] = peak;
		} else if (strcmp(memory->kind, "device") == 0) {
			/* of several devices the highest peak; fmax ignores NAN */
			rank->value[HK_FIGURE_DEVICE] = fmax(rank->value[HK_FIGURE_DEVICE], peak);
		}
	}
}

struct hk_rank_figures *hk_figures_new(const struct hk_report *report)
{
	struct hk_rank_figures *figures = calloc(report->rank_count + 1, sizeof(*figures));

	for (size_t i = 0; figures && i < report->rank_count; i++) {
		const struct hk_report_rank *rank = &report->ranks[i];
		int64_t wall = rank->end_ns > rank->start_ns ? rank->end_ns - rank->start_ns : 0;
		figures[i].rank = rank->rank;
		figures[i].value[HK_FIGURE_WALL] = (double)wall;
		figures[i].value[HK_FIGURE_HEAP] = NAN;
		figures[i].value[HK_FIGURE_DEVICE] = NAN;
		figures[i].value[HK_FIGURE_RSS] =
		    rank->rss_peak_bytes > 0 ? (double)rank->rss_peak_bytes : NAN;
	}
	if (!figures) {
		return NULL;
	}
	calls_add(figures, report);
	memory_add(figures, report);
	for (size_t i = 0; i < report->rank_count; i++) {
		double wall = figures[i].value[HK_FIGURE_WALL];
		figures[i].value[HK_FIGURE_MPI_SHARE] =
		    wall > 0 ? figures[i].value[HK_FIGURE_MPI] / wall : NAN;
	}
	return figures;
}

double hk_figure_mean(const struct hk_rank_figures *figures, size_t count, enum hk_figure figure)
{
	double sum = 0, weights = 0;

	for (size_t i = 0; i < count; i++) {
		double value = figures[i].value[figure];
		double weight =
		    figure == HK_FIGURE_MPI_SHARE ? figures[i].value[HK_FIGURE_WALL] : 1;
		if (!isnan(value)) {
			sum += value * weight;
			weights += weight;
		}
	}
	return weights > 0 ? sum / weights : (double)NAN;
}

const char *hk_figure_text(char text[HK_QUANTITY_BYTES], enum hk_figure figure, double value)
{
	if (isnan(value)) {
		return "-";
	}
	switch (figure) {
	case HK_FIGURE_WALL:
	case HK_FIGURE_MPI:
		return hk_quantity_seconds(text, value);
	case HK_FIGURE_MPI_SHARE:
		snprintf(text, HK_QUANTITY_BYTES, "%.1f", value * 100);
		return text;
	default:
		return hk_quantity_bytes(text, value < 1.8e19 ? (uint64_t)value : UINT64_MAX);
	}
}

const char *hk_figure_title(enum hk_figure figure)
{
	return titles[figure];
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static void outliers_find(const struct hk_rank_figures *figures, size_t count,
			  enum hk_figure figure, double deviation, struct hk_spread *spread)
{
	double limit = OUTLIER_DEVIATIONS * deviation;
	size_t used = 0;

	if (limit < OUTLIER_SHARE * spread->median) {
		limit = OUTLIER_SHARE * spread->median;
	}
	for (size_t i = 0; i < count; i++) {
		double value = figures[i].value[figure];
		char text[HK_QUANTITY_BYTES], one[HK_QUANTITY_BYTES + 24];
		if (isnan(value) || fabs(value - spread->median) <= limit) {
			continue;
		}
		int length =
		    snprintf(one, sizeof(one), "%srank %" PRId32 ": %s", used > 0 ? ", " : "",
			     figures[i].rank, hk_figure_text(text, figure, value));
		if (used + (size_t)length + sizeof(" ...") > sizeof(spread->outliers)) {
			memcpy(spread->outliers + used, " ...", sizeof(" ..."));
			return;
		}
		memcpy(spread->outliers + used, one, (size_t)length + 1);
		used += (size_t)length;
	}
}

int hk_spread_of(const struct hk_rank_figures *figures, size_t count, enum hk_figure figure,
		 struct hk_spread *ret_spread)
{
	struct hk_spread spread = {.median = NAN, .min = NAN, .max = NAN};
	double *values = calloc(count + 1, sizeof(*values));
	size_t have = 0;

	if (!values) {
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		double value = figures[i].value[figure];
		if (isnan(value)) {
			continue;
		}
		if (have == 0 || value < spread.min) {
			spread.min = value;
			spread.min_rank = figures[i].rank;
		}
		if (have == 0 || value > spread.max) {
			spread.max = value;
			spread.max_rank = figures[i].rank;
		}
		values[have++] = value;
	}
	if (have > 0) {
		spread.median = median(values, have);
		for (size_t i = 0; i < have; i++) {
			values[i] = fabs(values[i] - spread.median);
		}
		outliers_find(figures, count, figure, median(values, have), &spread);
	}
	free(values);
	*ret_spread = spread;
	return 0;
}
