/* drift_findings.h: adds functions whose longest calls became longer in the course of a job. Locked
 * by the caller. */
#ifndef HK_CLI_DRIFT_DRIFT_FINDINGS_H
#define HK_CLI_DRIFT_DRIFT_FINDINGS_H

#include "cli/drift/latencies.h"
#include "report/finding/finding.h"

/* The p99 of a function at the begin and the end of a job. */
struct hk_drift {
	double from_ns, to_ns; /* medians over the first and the last quarter of the parts */
	double cost_ns;	       /* what calls took longer than in the first quarter, on average */
};

/* Returns whether the p99 of LATENCY rises with the time to twice of what it was or more: there are
 * enough calls in each part, and chance gives such an order of the parts in fewer than one of ten
 * thousand functions. */
bool hk_drift_of(const struct hk_latency *latency, struct hk_drift *ret_drift);

/* Adds a finding of kind "drift" about the function that drifts and costs most, if the cost
 * matters, and if no finding of FINDINGS says from when on it is slow, or which rank it makes late.
 */
void hk_drift_findings_add(const struct hk_latencies *latencies, const struct hk_report *report,
			   struct hk_findings *findings);

#endif
