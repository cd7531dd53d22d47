#include "cli/drift/drift_findings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/finding/share.h"
#include "text/name.h"
#include "text/quantity.h"

#define NAME_COLUMNS 48
#define PARTS HK_LATENCY_PARTS
#define QUARTER (PARTS / 4)
#define CALLS_LEAST 200u /* in each part */
#define TIMES_LEAST 2.0
/* Least rank correlation of p99 with the time: of 16 values in random order fewer than one in ten
 * thousand have it. */
#define CORRELATION_LEAST 0.8
#define COST_SHARE 0.005

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double *values)
{
	double sorted[QUARTER];

	memcpy(sorted, values, sizeof(sorted));
	qsort(sorted, QUARTER, sizeof(sorted[0]), ascending);
	return (sorted[QUARTER / 2 - 1] + sorted[QUARTER / 2]) / 2;
}

/* Returns the rank of value INDEX among VALUES, from 0; the mean of its ranks if others are equal.
 */
static double place_of(const double values[PARTS], size_t index)
{
	double below = 0, equal = 0;

	for (size_t i = 0; i < PARTS; i++) {
		below += values[i] < values[index];
		equal += values[i] == values[index];
	}
	return below + (equal - 1) / 2;
}

/* Spearman's correlation of VALUES with their order; 0 if all are equal. */
static double correlation(const double values[PARTS])
{
	double mean = (PARTS - 1) / 2.0, xy = 0, xx = 0, yy = 0;

	for (size_t i = 0; i < PARTS; i++) {
		double x = (double)i - mean, y = place_of(values, i) - mean;
		xy += x * y;
		xx += x * x;
		yy += y * y;
	}
	return yy > 0 ? xy / sqrt(xx * yy) : 0;
}

static double cost_of(const struct hk_latency *latency)
{
	double calls = 0, total_ns = 0, cost_ns = 0;

	for (size_t i = 0; i < QUARTER; i++) {
		calls += (double)latency->parts[i].calls;
		total_ns += latency->parts[i].total_ns;
	}
	for (size_t i = QUARTER; i < PARTS; i++) {
		const struct hk_latency_part *part = &latency->parts[i];
		cost_ns += part->total_ns - total_ns / calls * (double)part->calls;
	}
	return fmax(cost_ns, 0);
}

bool hk_drift_of(const struct hk_latency *latency, struct hk_drift *ret_drift)
{
	double p99[PARTS];

	for (size_t i = 0; i < PARTS; i++) {
		if (latency->parts[i].calls < CALLS_LEAST) {
			return false;
		}
		p99[i] = hk_latency_p99(&latency->parts[i]);
	}
	ret_drift->from_ns = median(p99);
	ret_drift->to_ns = median(p99 + PARTS - QUARTER);
	ret_drift->cost_ns = cost_of(latency);
	return ret_drift->from_ns > 0 && ret_drift->to_ns >= TIMES_LEAST * ret_drift->from_ns &&
	       correlation(p99) >= CORRELATION_LEAST;
}

/* Whether FINDINGS say already from when on FUNCTION is slow, or which rank it makes late. */
static bool is_explained(const struct hk_findings *findings, const char *function)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct hk_finding *finding = &findings->list[i];
		bool kind = strcmp(finding->kind, "fail-slow") == 0 ||
			    strcmp(finding->kind, "late-rank") == 0;
		if (kind && finding->function && strcmp(finding->function, function) == 0) {
			return true;
		}
	}
	return false;
}

void hk_drift_findings_add(const struct hk_latencies *latencies, const struct hk_report *report,
			   struct hk_findings *findings)
{
	const struct hk_latency *latency, *most = NULL;
	struct hk_drift drift, worst = {0};
	double wall_ns = hk_report_wall_ns(report);
	char name[HK_NAME_BYTES(NAME_COLUMNS)], from[HK_QUANTITY_BYTES], to[HK_QUANTITY_BYTES];

	for (latency = latencies->functions; latency; latency = latency->hh.next) {
		if (hk_drift_of(latency, &drift) && drift.cost_ns > worst.cost_ns) {
			most = latency;
			worst = drift;
		}
	}
	if (!most || worst.cost_ns < COST_SHARE * wall_ns ||
	    is_explained(findings, most->function)) {
		return;
	}
	hk_name_print_function(name, NAME_COLUMNS, most->function);
	hk_finding_add(findings, HK_TOPIC_TIME, HK_WEIGHT_FINDING,
		       "%s gets slower: its p99 rises from %s to %s in the course of the job", name,
		       hk_quantity_time(from, worst.from_ns), hk_quantity_time(to, worst.to_ns));
	hk_finding_classify(findings, "drift",
			    latencies->incomplete ? HK_CONFIDENCE_LOW : HK_CONFIDENCE_MEDIUM,
			    worst.cost_ns);
	hk_finding_about_function(findings, most->function);
	for (size_t i = 0; i < PARTS; i += PARTS - 1) {
		const struct hk_latency_part *part = &most->parts[i];
		hk_finding_evidence(findings, "%s sixteenth of the time: %.0f calls, %s on average",
				    i == 0 ? "first" : "last", (double)part->calls,
				    hk_quantity_time(from, part->total_ns / (double)part->calls));
	}
	hk_finding_advise(findings, "hookcli report --by step shows whether all steps get slower; "
				    "hookcli report --by memory whether memory grows");
}
