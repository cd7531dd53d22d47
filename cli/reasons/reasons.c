#include "cli/reasons/reasons.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "cli/delay/delay_findings.h"
#include "cli/delay/history_read.h"
#include "cli/drift/drift_findings.h"
#include "cli/steps/step_findings.h"
#include "cli/waits/wait_findings.h"
#include "report/findings/findings.h"

/* Returns whether FINDINGS already name an awaited rank. */
static bool knows_awaited(const struct hk_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		if (strcmp(findings->list[i].kind, "awaited-rank") == 0) {
			return true;
		}
	}
	return false;
}

/* Adds whom the ranks waited for. Returns 0 or -errno. */
static int waits_add(const Hk__Snapshot *snapshot, const char *directory,
		     const struct hk_report *report, struct hk_findings *findings)
{
	struct hk_waits waits;

	if (report->rank_count < 2 || knows_awaited(findings)) {
		return 0;
	}
	int r = hk_waits_read(snapshot, directory, &waits);
	if (r == 0) {
		hk_wait_findings_add(&waits, report, findings);
	}
	hk_waits_fini(&waits);
	return r < 0 ? r : findings->error;
}

/* Adds from when on steps take longer. Returns 0 or -errno. */
static int steps_add(const Hk__Snapshot *snapshot, const char *directory,
		     const struct hk_report *report, struct hk_findings *findings)
{
	struct hk_steps steps;
	int r = hk_steps_read(snapshot, directory, &steps);

	if (r == 0) {
		r = hk_step_findings_add(&steps, snapshot, directory, report, findings);
	}
	hk_steps_fini(&steps);
	return r < 0 ? r : findings->error;
}

/* Adds what made slow ranks late, and the critical path. Returns 0 or -errno. */
static int delays_add(const Hk__Snapshot *snapshot, const char *directory,
		      const struct hk_report *report, struct hk_findings *findings)
{
	struct hk_delays delays = {0};
	struct hk_path path = {0};
	struct hk_history history;

	if (report->rank_count < 2) {
		return 0;
	}
	int r = hk_history_read(snapshot, directory, &history);
	r = r < 0 ? r : hk_delays_find(&history, &delays);
	r = r < 0 ? r : hk_path_find(&history, &path);
	if (r == 0) {
		hk_delay_findings_add(&history, &delays, &path, findings);
	}
	hk_path_fini(&path);
	hk_delays_fini(&delays);
	hk_history_fini(&history);
	return r < 0 ? r : findings->error;
}

/* Adds the function whose calls become longer. Returns 0 or -errno. */
static int drift_add(const Hk__Snapshot *snapshot, const char *directory,
		     const struct hk_report *report, struct hk_findings *findings)
{
	struct hk_latencies latencies;
	int r = hk_latencies_read(snapshot, directory, report->job.duration_ns, &latencies);

	if (r == 0) {
		hk_drift_findings_add(&latencies, report, findings);
	}
	hk_latencies_fini(&latencies);
	return r < 0 ? r : findings->error;
}

/* Subtracts the largest cost of another finding from that of steps that became longer on all ranks:
 * those say when the job became slow, not why. */
static void explained_subtract(const struct hk_report *report, struct hk_findings *findings)
{
	double explained_ns = 0;

	for (size_t i = 0; i < findings->count; i++) {
		const struct hk_finding *finding = &findings->list[i];
		if (finding->weight == HK_WEIGHT_FINDING &&
		    finding->confidence != HK_CONFIDENCE_LOW &&
		    strcmp(finding->kind, "fail-slow") != 0) {
			explained_ns = fmax(explained_ns, finding->cost_ns);
		}
	}
	for (size_t i = 0; i < findings->count; i++) {
		struct hk_finding *finding = &findings->list[i];
		if (strcmp(finding->kind, "fail-slow") == 0 && report->rank_count > 1 &&
		    finding->rank_count == report->rank_count) {
			finding->cost_ns = fmax(finding->cost_ns - explained_ns, 0);
		}
	}
}

int hk_reasons_add(const Hk__Snapshot *snapshot, const char *directory,
		   const struct hk_report *report, uint64_t limit, struct hk_findings *findings)
{
	if (report->job.records - report->job.shed_records > limit) {
		hk_finding_add(findings, HK_TOPIC_RECORDS, HK_WEIGHT_FACT,
			       "more than %.0f million records: waits between ranks, their causes, "
			       "steps and drifts were not looked at; hookcli report --by wait, "
			       "--by delay and --by step do",
			       (double)limit / 1e6);
		return findings->error;
	}
	int r = steps_add(snapshot, directory, report, findings);
	r = r < 0 ? r : waits_add(snapshot, directory, report, findings);
	r = r < 0 ? r : drift_add(snapshot, directory, report, findings);
	r = r < 0 ? r : delays_add(snapshot, directory, report, findings);
	explained_subtract(report, findings);
	hk_findings_sort(findings);
	return r;
}

int hk_reasons_init(const Hk__Snapshot *snapshot, const char *directory,
		    const struct hk_report *report, uint64_t limit, struct hk_findings *findings)
{
	int r = hk_findings_init(findings, report);

	if (r == 0 && directory && *directory) {
		r = hk_reasons_add(snapshot, directory, report, limit, findings);
		r = r == -ENOMEM ? r : findings->error;
		if (r < 0) {
			hk_findings_fini(findings);
		}
	}
	return r;
}
