#include "cli/delay/delay_findings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/delay/history_notes.h"
#include "cli/delay/stack_line.h"
#include "text/quantity.h"

#define ROWS_MOST 2u
#define OF_WAITS_LEAST 0.1 /* share of all waits that a row has at least */
#define OF_PATH_LEAST 0.2  /* share of the path that a rank has at least, to be named */
#define PATH_BYTES 512
#define RECORDED_LEAST 0.9 /* share of the MPI calls without which nothing is said */

static bool is_about_slow_rank(const struct hk_finding *finding)
{
	static const char *const kinds[] = {"late-rank", "fail-slow", "no-processor",
					    "awaited-rank"};
	bool slow = false;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		slow |= strcmp(finding->kind, kinds[i]) == 0;
	}
	return slow && finding->weight == HK_WEIGHT_FINDING && finding->rank_count == 1;
}

/* Adds what of rank LANE the others waited for most. */
static void rows_add(const struct hk_history *history, const struct hk_delays *delays, size_t lane,
		     struct hk_findings *findings)
{
	char text[HK_WORK_TEXT_BYTES], line[HK_STACK_LINE_BYTES], time[HK_QUANTITY_BYTES];
	char passed[HK_QUANTITY_BYTES];
	size_t added = 0;

	for (size_t i = 0; i < delays->rows.count && added < ROWS_MOST; i++) {
		const struct hk_work_row *row = &delays->rows.list[i];
		const struct hk_activity *activity = hk_work_stack(history, row->key);
		if (row->lane != lane || row->ns < OF_WAITS_LEAST * delays->wait_ns) {
			continue;
		}
		hk_quantity_time(time, row->ns);
		hk_quantity_time(passed, row->passed_ns);
		hk_finding_evidence(
		    findings, "%s more %s%s made ranks wait %s, %.0f %% of all waits%s%s%s",
		    added == 0 ? "delay cost:" : "and",
		    hk_work_class_of(history, row->key) == HK_WORK_OWN ? "" : "time in ",
		    hk_work_text(history, row->key, text), time, 100 * row->ns / delays->wait_ns,
		    row->passed_ns > 0 ? ", " : "", row->passed_ns > 0 ? passed : "",
		    row->passed_ns > 0 ? " of it passed on" : "");
		if (activity && hk_stack_line(activity->process, activity->stack, line)) {
			hk_finding_evidence(findings, "at %s", line);
		}
		added++;
	}
}

/* The path's time of each rank, by class. */
typedef double hk_path_sums[HK_WORK_CLASSES];

/* Returns NULL without memory. The caller frees the sums. */
static hk_path_sums *sums_new(const struct hk_history *history, const struct hk_path *path)
{
	hk_path_sums *sums = calloc(history->lane_count + 1, sizeof(*sums));

	for (size_t i = 0; sums && i < path->rows.count; i++) {
		const struct hk_work_row *row = &path->rows.list[i];
		sums[row->lane][hk_work_class_of(history, row->key)] += row->ns;
	}
	return sums;
}

/* The largest part of the path that one rank has of one class. */
struct largest {
	size_t lane;
	enum hk_work_class kind;
	double ns;
};

/* Returns the largest part of the lanes from FIRST to LAST. */
static struct largest largest_of(const hk_path_sums *sums, size_t first, size_t last)
{
	struct largest largest = {.lane = first};

	for (size_t i = first; i <= last; i++) {
		for (unsigned kind = 0; kind < HK_WORK_UNKNOWN; kind++) {
			if (sums[i][kind] > largest.ns) {
				largest =
				    (struct largest){i, (enum hk_work_class)kind, sums[i][kind]};
			}
		}
	}
	return largest;
}

/* Writes "61 % in rank 3's own work". */
static const char *largest_text(const struct hk_history *history, const struct hk_path *path,
				const struct largest *largest, char *text)
{
	snprintf(text, PATH_BYTES, "%.0f %% in rank %" PRId32 "'s %s",
		 100 * largest->ns / path->all_ns, history->lanes[largest->lane].rank,
		 hk_work_class_name(largest->kind));
	return text;
}

static void path_fact_add(const struct hk_history *history, const struct hk_path *path,
			  const hk_path_sums *sums, struct hk_findings *findings)
{
	const struct largest largest = largest_of(sums, 0, history->lane_count - 1);
	char text[PATH_BYTES], time[HK_QUANTITY_BYTES], unsure[96] = "", parts[PATH_BYTES] = "";
	size_t used = 0;

	for (unsigned i = 0; i < HK_WORK_CLASSES; i++) {
		if (path->class_ns[i] > 0) {
			used += (size_t)snprintf(parts + used, sizeof(parts) - used, "%s%s %.0f %%",
						 used > 0 ? ", " : "",
						 hk_work_class_name((enum hk_work_class)i),
						 100 * path->class_ns[i] / path->all_ns);
		}
	}
	if (path->unsure > 0) {
		snprintf(unsure, sizeof(unsure),
			 "; %" PRIu64 " waits were not followed, as clocks do not say who was last",
			 path->unsure);
	}
	hk_finding_add(findings, HK_TOPIC_PATH, HK_WEIGHT_FACT,
		       "the critical path (%s) spends %s; in all %s%s",
		       hk_quantity_time(time, path->all_ns),
		       largest_text(history, path, &largest, text), parts, unsure);
}

/* Returns which share of the ranks' MPI calls was recorded: others look like own work. */
static double recorded_share(const struct hk_history *history)
{
	double calls = 0, recorded = 0;

	for (size_t i = 0; i < history->lane_count; i++) {
		calls += (double)history->lanes[i].mpi_calls;
		recorded += (double)history->lanes[i].mpi_recorded;
	}
	return calls > 0 ? recorded / calls : 1;
}

/* Names what is missing, behind evidence that it limits. */
static void gaps_add(const struct hk_history *history, struct hk_findings *findings)
{
	struct hk_history_notes notes;
	bool gaps = history->lost > 0 || history->full_ns < UINT64_MAX;

	hk_history_notes_make(history, &notes);
	if (gaps && notes.count > 0) {
		hk_finding_evidence(findings, "delay costs are incomplete: %s", notes.list[0]);
	}
}

/* Adds the evidence about rank LANE to the current finding. */
static void rank_add(const struct hk_history *history, const struct hk_delays *delays,
		     const struct hk_path *path, const hk_path_sums *sums, size_t lane,
		     struct hk_findings *findings)
{
	const struct largest largest = largest_of(sums, lane, lane);
	char text[PATH_BYTES];

	rows_add(history, delays, lane, findings);
	if (largest.ns > 0 && largest.ns >= OF_PATH_LEAST * path->all_ns) {
		hk_finding_evidence(findings, "the critical path spends %s",
				    largest_text(history, path, &largest, text));
	}
	gaps_add(history, findings);
}

void hk_delay_findings_add(const struct hk_history *history, const struct hk_delays *delays,
			   const struct hk_path *path, struct hk_findings *findings)
{
	hk_path_sums *sums = sums_new(history, path);

	if (!sums) {
		findings->error = -ENOMEM;
		return;
	}
	if (recorded_share(history) < RECORDED_LEAST) {
		hk_finding_add(findings, HK_TOPIC_PATH, HK_WEIGHT_FACT,
			       "unknown: of the ranks' MPI calls only %.0f %% were recorded",
			       100 * recorded_share(history));
		free(sums);
		return;
	}
	for (size_t i = 0; i < findings->count; i++) {
		const struct hk_finding *finding = &findings->list[i];
		size_t lane = is_about_slow_rank(finding)
				  ? hk_history_lane(history, finding->ranks[0])
				  : SIZE_MAX;
		if (lane != SIZE_MAX) {
			findings->current = i;
			rank_add(history, delays, path, sums, lane, findings);
		}
	}
	if (path->all_ns > 0 && history->lane_count > 1) {
		path_fact_add(history, path, sums, findings);
	}
	free(sums);
}
