#include "report/findings/wait_findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hooks/hook.h"
#include "report/finding/share.h"
#include "text/name.h"
#include "text/quantity.h"

#define NAME_COLUMNS 48
#define WHERE_BYTES (HK_NAME_BYTES(NAME_COLUMNS) + 48)
#define OF_TIME_LEAST 0.02 /* share of the ranks' time */
#define OF_WAITS_LEAST 0.6 /* share of all waits; of two ranks, OF_WAITS_OF_TWO */
#define OF_WAITS_OF_TWO 0.8
#define FACTS_MOST 3u

/* Writes "MPI_Bcast on communicator 0123456789abcdef"; without the latter for MPI_COMM_WORLD. */
static void where_print(char text[WHERE_BYTES], const struct hk_report_wait *wait)
{
	char name[HK_NAME_BYTES(NAME_COLUMNS)];

	hk_name_print_function(name, NAME_COLUMNS, wait->function);
	if (wait->comm == HK_COMM_WORLD) {
		snprintf(text, WHERE_BYTES, "%s", name);
	} else {
		snprintf(text, WHERE_BYTES, "%s on communicator %016" PRIx64, name, wait->comm);
	}
}

static const struct hk_report_late *late_of(const struct hk_report_wait *wait, int32_t rank)
{
	for (size_t i = 0; i < wait->late_count; i++) {
		if (wait->late[i].rank == rank) {
			return &wait->late[i];
		}
	}
	return NULL;
}

/* The waits for one rank. */
struct awaited {
	int32_t rank;
	uint64_t times;
	double wait_ns;
	const struct hk_report_wait *longest; /* where they are the longest */
};

static struct awaited awaited_sum(const struct hk_report *report, int32_t rank)
{
	struct awaited sum = {.rank = rank};
	uint64_t longest_ns = 0;

	for (size_t i = 0; i < report->wait_count; i++) {
		const struct hk_report_late *late = late_of(&report->waits[i], rank);
		if (late && late->wait_ns > longest_ns) {
			longest_ns = late->wait_ns;
			sum.longest = &report->waits[i];
		}
		sum.times += late ? late->times : 0;
		sum.wait_ns += late ? (double)late->wait_ns : 0;
	}
	return sum;
}

/* Returns the rank that was awaited the longest. Its `longest` is NULL if no rank was awaited. */
static struct awaited most_awaited(const struct hk_report *report)
{
	struct awaited most = {.rank = -1};

	for (size_t i = 0; i < report->wait_count; i++) {
		for (size_t k = 0; k < report->waits[i].late_count; k++) {
			struct awaited sum = awaited_sum(report, report->waits[i].late[k].rank);
			most = sum.wait_ns > most.wait_ns ? sum : most;
		}
	}
	return most;
}

static double all_waits_ns(const struct hk_report *report)
{
	double all_ns = (double)report->matching.other_ns;

	for (size_t i = 0; i < report->wait_count; i++) {
		all_ns += (double)report->waits[i].wait_ns;
	}
	return all_ns;
}

bool hk_findings_explain_rank(const struct hk_findings *findings, int32_t rank)
{
	static const char *const kinds[] = {"late-rank", "fail-slow", "no-processor",
					    "awaited-rank"};

	for (size_t i = 0; i < findings->count; i++) {
		const struct hk_finding *finding = &findings->list[i];
		bool explains = finding->topic == HK_TOPIC_PROGRESS;
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			explains |= strcmp(finding->kind, kinds[k]) == 0;
		}
		if (explains && finding->rank_count == 1 && finding->ranks[0] == rank) {
			return true;
		}
	}
	return false;
}

/* Adds the sums of WAIT as evidence. */
static void evidence_add(struct hk_findings *findings, const struct hk_report_wait *wait,
			 int32_t rank)
{
	const struct hk_report_late *late = late_of(wait, rank);
	char where[WHERE_BYTES], time[HK_QUANTITY_BYTES], longest[HK_QUANTITY_BYTES];
	char error[HK_QUANTITY_BYTES];

	where_print(where, wait);
	hk_finding_evidence(findings,
			    "%s: others waited for it in %" PRIu64 " of %" PRIu64
			    " collectives, %s, at most %s (clock error %s)",
			    where, late->times, wait->collectives,
			    hk_quantity_time(time, (double)late->wait_ns),
			    hk_quantity_time(longest, (double)late->longest_ns),
			    hk_quantity_time(error, (double)wait->error_ns));
}

void hk_findings_add_awaited(const struct hk_report *report, struct hk_findings *findings)
{
	struct awaited most = most_awaited(report);
	double all_ns = all_waits_ns(report), wall_ns = hk_report_wall_ns(report);
	double least = report->rank_count > 2 ? OF_WAITS_LEAST : OF_WAITS_OF_TWO;
	char time[HK_QUANTITY_BYTES];

	if (report->job.closed || !most.longest || most.wait_ns < OF_TIME_LEAST * wall_ns ||
	    most.wait_ns < least * all_ns || hk_findings_explain_rank(findings, most.rank)) {
		return;
	}
	hk_finding_add(findings, HK_TOPIC_BALANCE, HK_WEIGHT_FINDING,
		       "the ranks waited %s for rank %" PRId32
		       " so far, %.0f %% of their waits in collectives",
		       hk_quantity_time(time, most.wait_ns), most.rank,
		       100 * most.wait_ns / all_ns);
	hk_finding_classify(findings, "awaited-rank", HK_CONFIDENCE_MEDIUM, most.wait_ns);
	hk_finding_about_rank(findings, most.rank);
	hk_finding_about_function(findings, most.longest->function);
	evidence_add(findings, most.longest, most.rank);
	hk_finding_advise(findings,
			  "hookcli stacks --ranks %" PRId32
			  " shows where it is; hookcli report --by wait has the waits in messages",
			  most.rank);
}

static void skew_add(struct hk_findings *findings, const struct hk_report_wait *wait)
{
	char where[WHERE_BYTES], mean[HK_QUANTITY_BYTES], longest[HK_QUANTITY_BYTES];
	char waited[HK_QUANTITY_BYTES], error[HK_QUANTITY_BYTES];
	uint64_t apart = wait->collectives - wait->together;

	where_print(where, wait);
	hk_finding_add(findings, HK_TOPIC_WAITS, HK_WEIGHT_FACT,
		       "%s: %" PRIu64
		       " collectives, entered %s apart on average, %s at most (clock error %s); "
		       "the ranks waited %s",
		       where, wait->collectives,
		       hk_quantity_time(mean, apart ? (double)wait->skew_ns / (double)apart : 0),
		       hk_quantity_time(longest, (double)wait->longest_skew_ns),
		       hk_quantity_time(error, (double)wait->error_ns),
		       hk_quantity_time(waited, (double)wait->wait_ns));
	for (size_t i = 0; i < wait->late_count && i < FACTS_MOST; i++) {
		hk_finding_evidence(findings,
				    "rank %" PRId32 " was awaited %" PRIu64 " times, %s in all",
				    wait->late[i].rank, wait->late[i].times,
				    hk_quantity_time(waited, (double)wait->late[i].wait_ns));
	}
}

/* Adds what was not matched, if there is anything. */
static void unmatched_add(struct hk_findings *findings, const struct hk_report_matching *matching)
{
	uint64_t not_whole = matching->incomplete + matching->doubtful + matching->unsure;
	char reason[128] = "";

	if (not_whole + matching->late + matching->dropped + matching->clockless == 0) {
		return;
	}
	if (matching->doubt && *matching->doubt) {
		snprintf(reason, sizeof(reason), "; calls of rank %" PRId32 " have no numbers: %s",
			 matching->doubt_rank, matching->doubt);
	}
	hk_finding_add(findings, HK_TOPIC_RECORDS, HK_WEIGHT_FACT,
		       "matched while the job runs: %" PRIu64 " collectives, not %" PRIu64
		       " (%" PRIu64 " without a rank, %" PRIu64 " unnumbered, %" PRIu64
		       " that contradict each other); calls left out: %" PRIu64 " late, %" PRIu64
		       " without room, %" PRIu64 " without a clock%s",
		       matching->collectives - matching->doubtful, not_whole, matching->incomplete,
		       matching->unsure, matching->doubtful, matching->late, matching->dropped,
		       matching->clockless, reason);
}

void hk_findings_add_skew(const struct hk_report *report, struct hk_findings *findings)
{
	if (report->job.closed) {
		return;
	}
	for (size_t i = 0; i < report->wait_count && i < FACTS_MOST; i++) {
		skew_add(findings, &report->waits[i]);
	}
	unmatched_add(findings, &report->matching);
}
