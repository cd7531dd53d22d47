#include "report/findings/processor_findings.h"

#include <inttypes.h>
#include <string.h>

#include "report/finding/share.h"
#include "report/findings/progress/standing.h"
#include "report/model/activity.h"
#include "text/quantity.h"

/* Least share of their time that all ranks together, and half of them each, wait for a processor.
 */
#define WAITING_SHARE 0.1
#define WAITING_SHARE_OF_RANK 0.05
#define WAITING_NS 1e9 /* least time, over all ranks */

/* Returns how long RANK was runnable without a processor between MPI calls, in ns. */
static double waiting_of(const struct hk_report *report, const struct hk_report_rank *rank)
{
	double sum = 0;
	size_t count = 0;
	const struct hk_report_activity *rows = hk_report_activity_find(
	    report, rank->rank, HK__ACTIVITY_KIND__ACTIVITY_WAITING, "", &count);

	for (size_t i = 0; rows && i < count; i++) {
		sum += rows[i].sum[rows[i].count - 1];
	}
	return sum;
}

void hk_findings_add_processors(const struct hk_report *report, struct hk_findings *findings)
{
	double wall_ns = hk_report_wall_ns(report), waiting_ns = 0, cpu_ns = 0;
	char time[HK_QUANTITY_BYTES];
	size_t waiting = 0;

	for (size_t i = 0; i < report->rank_count; i++) {
		const struct hk_report_rank *rank = &report->ranks[i];
		double own_ns = waiting_of(report, rank);
		waiting_ns += own_ns;
		cpu_ns += (double)rank->cpu_ns;
		waiting += own_ns >=
			   WAITING_SHARE_OF_RANK * ((double)rank->end_ns - (double)rank->start_ns);
	}
	if (report->rank_count < 2 || waiting_ns < WAITING_NS ||
	    waiting_ns < WAITING_SHARE * wall_ns || 2 * waiting < report->rank_count) {
		return;
	}
	hk_finding_add(findings, HK_TOPIC_TIME, HK_WEIGHT_FINDING,
		       "the ranks wait for a processor: %s between %s calls, %.0f %% of their "
		       "time",
		       hk_quantity_time(time, waiting_ns), hk_joint_name(report),
		       100 * waiting_ns / wall_ns);
	hk_finding_classify(findings, "oversubscribed", HK_CONFIDENCE_HIGH, waiting_ns);
	hk_finding_evidence(findings,
			    "%zu of %zu ranks do; processor time is %.0f %% of the wall time",
			    waiting, report->rank_count, 100 * cpu_ns / wall_ns);
	hk_finding_advise(findings, "start no more ranks on a node than it has free processors, "
				    "and bind each to its own (mpirun --bind-to core)");
}
