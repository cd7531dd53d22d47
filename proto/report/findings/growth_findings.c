#include "report/findings/growth_findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "report/finding/stack_advice.h"
#include "text/name.h"
#include "text/quantity.h"
#include "text/ranks.h"

#define NAME_COLUMNS 48
#define SKIPPED_SHARE 0.2 /* of the time: programs build up their data first */
#define END_SHARE 0.05	  /* of the time, in which it may end */
#define QUARTERS 4u
#define BINS_LEAST 16u
#define LENGTH_LEAST_NS 3e9
#define GROWTH_BYTES 8388608.0 /* least growth */
#define GROWTH_SHARE 0.1       /* of the highest value, least growth */
#define FIT_LEAST 0.9	       /* least part of the variance that the line explains */
#define RANKS_NAMED 64u

/* A line through the live bytes of a process. */
struct slope {
	double bytes_per_s, error; /* standard error */
	double grown;		   /* bytes, from the first to the last value */
};

/* Returns how many bins of SERIES count: a program that ends gives its memory back in the last
 * ones. */
static size_t bins_of(const struct hk_report_memory_series *series)
{
	size_t most = 0;

	for (size_t i = 0; i < series->count; i++) {
		most = series->last_bytes[i] >= series->last_bytes[most] ? i : most;
	}
	return most + 1 >= (1 - END_SHARE) * (double)series->count ? most + 1 : series->count;
}

/* Returns whether the live bytes are higher after each quarter of the time from bin FIRST to END.
 */
static bool rises(const struct hk_report_memory_series *series, size_t first, size_t end)
{
	size_t bins = end - first;
	double last = (double)series->last_bytes[first];

	for (size_t i = 1; i <= QUARTERS; i++) {
		double value = (double)series->last_bytes[first + i * (bins - 1) / QUARTERS];
		if (value <= last) {
			return false;
		}
		last = value;
	}
	return true;
}

/* Fits a line to the values from bin FIRST to END. Returns whether it fits and rises enough. */
static bool fit(const struct hk_report_memory_series *series, size_t first, size_t end,
		struct slope *ret_slope)
{
	double n = (double)(end - first), x = 0, y = 0, xx = 0, xy = 0, yy = 0, high = 0;

	for (size_t i = first; i < end; i++) {
		x += (double)i;
		y += (double)series->last_bytes[i];
	}
	x /= n;
	y /= n;
	for (size_t i = first; i < end; i++) {
		double dx = (double)i - x, dy = (double)series->last_bytes[i] - y;
		xx += dx * dx;
		xy += dx * dy;
		yy += dy * dy;
		high = fmax(high, (double)series->max_bytes[i]);
	}
	double slope = xy / xx, rest = fmax(yy - slope * xy, 0);
	double bins_per_s = 1e9 / (double)series->width_ns;
	ret_slope->bytes_per_s = slope * bins_per_s;
	ret_slope->error = sqrt(rest / (n - 2) / xx) * bins_per_s;
	ret_slope->grown = slope * (n - 1);
	return yy > 0 && rest <= (1 - FIT_LEAST) * yy && ret_slope->grown >= GROWTH_BYTES &&
	       ret_slope->grown >= GROWTH_SHARE * high;
}

/* Returns whether the bytes of SERIES grow until its end, and how fast. */
static bool grows(const struct hk_report_memory_series *series, struct slope *ret_slope)
{
	size_t first = (size_t)(SKIPPED_SHARE * (double)series->count), end = bins_of(series);
	double length_ns = (double)series->count * (double)series->width_ns;

	return strcmp(series->role, "main") == 0 && end >= first + BINS_LEAST &&
	       length_ns >= LENGTH_LEAST_NS && rises(series, first, end) &&
	       fit(series, first, end, ret_slope);
}

/* Returns the library that holds most of the live bytes of SERIES's kind on its rank, or NULL. */
static const struct hk_report_memory *holder_of(const struct hk_report *report,
						const struct hk_report_memory_series *series)
{
	const struct hk_report_memory *holder = NULL;

	for (size_t i = 0; i < report->memory_count; i++) {
		const struct hk_report_memory *row = &report->memory[i];
		if (row->rank == series->rank && row->device == series->device &&
		    strcmp(row->role, series->role) == 0 && strcmp(row->kind, series->kind) == 0 &&
		    strcmp(row->library, "*") != 0 &&
		    (!holder || row->live_bytes > holder->live_bytes)) {
			holder = row;
		}
	}
	return holder;
}

static void holder_add(const struct hk_report *report, const struct hk_report_memory_series *series,
		       struct hk_findings *findings)
{
	const struct hk_report_memory *holder = holder_of(report, series);
	char name[HK_NAME_BYTES(NAME_COLUMNS)], live[HK_QUANTITY_BYTES];

	if (holder) {
		hk_name_print_end(name, NAME_COLUMNS, hk_name_base(holder->library));
		hk_finding_evidence(findings,
				    "%s allocated most of it on rank %" PRId32 ": %s live, %" PRIu64
				    " allocations, %" PRIu64 " frees",
				    name, series->rank, hk_quantity_bytes(live, holder->live_bytes),
				    holder->allocs, holder->frees);
	}
}

/* Says when SLOPE reaches the limit of the control group of RANK, if there is one. */
static void limit_add(const struct hk_report *report, int32_t rank, const struct slope *slope,
		      struct hk_findings *findings)
{
	char limit[HK_QUANTITY_BYTES], left[HK_QUANTITY_BYTES];

	for (size_t i = 0; i < report->rank_count; i++) {
		const struct hk_report_rank *row = &report->ranks[i];
		if (row->rank != rank || row->memory_limit_bytes <= row->rss_peak_bytes) {
			continue;
		}
		double bytes = (double)(row->memory_limit_bytes - row->rss_peak_bytes);
		hk_finding_evidence(findings,
				    "the control group of rank %" PRId32
				    " may use %s: at this rate its own memory reaches that in %s",
				    rank, hk_quantity_bytes(limit, row->memory_limit_bytes),
				    hk_quantity_time(left, bytes / slope->bytes_per_s * 1e9));
		return;
	}
}

/* Whether an earlier row of the report is about the same kind and device, and grows. */
static bool is_named(const struct hk_report *report, size_t index)
{
	const struct hk_report_memory_series *series = &report->memory_series[index];
	struct slope slope;

	for (size_t i = 0; i < index; i++) {
		const struct hk_report_memory_series *other = &report->memory_series[i];
		if (other->device == series->device && strcmp(other->kind, series->kind) == 0 &&
		    grows(other, &slope)) {
			return true;
		}
	}
	return false;
}

/* Adds the finding about the kind and device of row INDEX, the first one that grows. */
static void growth_add(const struct hk_report *report, size_t index, struct hk_findings *findings)
{
	const struct hk_report_memory_series *first = &report->memory_series[index];
	struct slope slope, fastest = {0};
	int32_t ranks[RANKS_NAMED], soonest = first->rank;
	char kind[HK_NAME_BYTES(16)], list[128], rate[HK_QUANTITY_BYTES], error[HK_QUANTITY_BYTES];
	size_t count = 0;

	for (size_t i = index; i < report->memory_series_count; i++) {
		const struct hk_report_memory_series *series = &report->memory_series[i];
		if (series->device == first->device && strcmp(series->kind, first->kind) == 0 &&
		    grows(series, &slope)) {
			if (slope.bytes_per_s > fastest.bytes_per_s) {
				fastest = slope;
				soonest = series->rank;
			}
			if (count < RANKS_NAMED &&
			    (count == 0 || ranks[count - 1] != series->rank)) {
				ranks[count++] = series->rank;
			}
		}
	}
	hk_name_print(kind, 16, first->kind);
	hk_ranks_print(list, sizeof(list), ranks, count);
	hk_finding_add(findings, HK_TOPIC_MEMORY, HK_WEIGHT_FINDING,
		       "%s memory grows by %s/s (\302\261%s) on rank%s %s until the end", kind,
		       hk_quantity_bytes(rate, (uint64_t)fastest.bytes_per_s),
		       hk_quantity_bytes(error, (uint64_t)(2 * fastest.error)),
		       count == 1 ? "" : "s", list);
	hk_finding_classify(findings, "memory-growth", HK_CONFIDENCE_MEDIUM, 0);
	for (size_t i = 0; i < count; i++) {
		hk_finding_about_rank(findings, ranks[i]);
	}
	holder_add(report, first, findings);
	if (strcmp(first->kind, "heap") == 0 || strcmp(first->kind, "map") == 0) {
		limit_add(report, soonest, &fastest, findings);
	}
	if (hk_report_has_stacks(report, "malloc")) {
		hk_finding_advise_stack(findings, report, "hookcli report --by memory; ", "malloc");
	} else {
		hk_finding_advise(findings, "hookcli report --by memory; run with --level "
					    "'malloc=record+stack:100/s' too, then hookcli report "
					    "--by stack --function 'malloc'");
	}
}

void hk_findings_add_growth(const struct hk_report *report, struct hk_findings *findings)
{
	struct slope slope;

	for (size_t i = 0; i < report->memory_series_count; i++) {
		if (grows(&report->memory_series[i], &slope) && !is_named(report, i)) {
			growth_add(report, i, findings);
		}
	}
}
