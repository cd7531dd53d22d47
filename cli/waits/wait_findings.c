#include "cli/waits/wait_findings.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "report/finding/share.h"
#include "report/findings/progress/standing.h"
#include "report/findings/wait_findings.h"
#include "report/model/lookup.h"
#include "report/usage/message_findings.h"
#include "text/name.h"
#include "text/quantity.h"

#define NAME_COLUMNS 48
#define OF_TIME_LEAST 0.02 /* share of the ranks' time */
#define OF_WAITS_LEAST 0.6 /* share of all waits; of two ranks, OF_WAITS_OF_TWO */
#define OF_WAITS_OF_TWO 0.8
#define MESSAGES_LEAST \
	0.5 /* share of the waits of one rank; so much time in messages explains them */
#define PLACES_MOST 64u

/* Returns the waits for RANK in ns. */
static double waits_for(const struct hk_waits *waits, int32_t rank)
{
	double sum = 0;

	for (size_t i = 0; i < waits->count; i++) {
		sum += waits->rows[i].awaited == rank ? (double)waits->rows[i].wait_ns : 0;
	}
	return sum;
}

/* The waits for a rank in one function and pattern. */
struct place {
	const struct hk_wait_row *row;
	double wait_ns;
};

/* Returns where the longest waits for RANK are, summed over the waiting ranks. Of more than
 * PLACES_MOST the rest, which has the shortest rows, is left out. */
static struct place longest_for(const struct hk_waits *waits, int32_t rank)
{
	struct place places[PLACES_MOST] = {{0}}, *longest = &places[0];
	size_t count = 0;

	for (size_t i = 0; i < waits->count; i++) {
		const struct hk_wait_row *row = &waits->rows[i];
		size_t at = 0;
		while (at < count && (places[at].row->function != row->function ||
				      places[at].row->pattern != row->pattern)) {
			at++;
		}
		if (row->awaited != rank || at == PLACES_MOST) {
			continue;
		}
		count += at == count;
		places[at].row = row;
		places[at].wait_ns += (double)row->wait_ns;
		longest = places[at].wait_ns > longest->wait_ns ? &places[at] : longest;
	}
	return *longest;
}

/* Returns how long RANK sent and received messages, without its waits for other ranks. */
static double messages_of(const struct hk_waits *waits, const struct hk_report *report,
			  int32_t rank)
{
	double sum = 0;

	for (size_t i = hk_report_first_call(report, rank);
	     i < report->call_count && report->calls[i].rank == rank; i++) {
		const struct hk_report_call *call = &report->calls[i];
		if (strcmp(call->domain, "mpi") == 0 && strcmp(call->role, "main") == 0 &&
		    hk_is_message_call(call->function)) {
			sum += (double)call->numbers.total_ns;
		}
	}
	for (size_t i = 0; i < waits->count; i++) {
		const struct hk_wait_row *row = &waits->rows[i];
		sum -= row->rank == rank && hk_is_message_call(row->function) ? (double)row->wait_ns
									      : 0;
	}
	return sum;
}

/* Returns the waits for RANK in calls for messages, which the cost of small ones has already. */
static double charged_of(const struct hk_waits *waits, int32_t rank)
{
	double sum = 0;

	for (size_t i = 0; i < waits->count; i++) {
		const struct hk_wait_row *row = &waits->rows[i];
		bool charged = row->awaited == rank && hk_is_message_call(row->function);
		sum += charged ? (double)row->wait_ns : 0;
	}
	return sum;
}

/* If FINDINGS say that messages are too small, and RANK comes late because of messages, adds the
 * waits for it, WAIT_NS over all ranks, to their cost. Returns whether that is so. */
static bool messages_add(const struct hk_waits *waits, const struct hk_report *report, int32_t rank,
			 double wait_ns, struct hk_findings *findings)
{
	double each_ns = wait_ns / (double)(report->rank_count - 1);
	char time[HK_QUANTITY_BYTES];

	for (size_t i = 0; i < findings->count; i++) {
		struct hk_finding *finding = &findings->list[i];
		if (strcmp(finding->kind, "small-messages") == 0 &&
		    messages_of(waits, report, rank) >= MESSAGES_LEAST * each_ns) {
			finding->cost_ns += wait_ns - charged_of(waits, rank);
			findings->current = i;
			hk_finding_evidence(findings,
					    "the ranks waited %s for rank %" PRId32
					    ", which was in such messages",
					    hk_quantity_time(time, wait_ns), rank);
			return true;
		}
	}
	return false;
}

void hk_wait_findings_add(const struct hk_waits *waits, const struct hk_report *report,
			  struct hk_findings *findings)
{
	double wall_ns = hk_report_wall_ns(report), all_ns = 0, most_ns = 0;
	char time[HK_QUANTITY_BYTES], part[HK_QUANTITY_BYTES], name[HK_NAME_BYTES(NAME_COLUMNS)];
	int32_t most = -1;

	for (size_t i = 0; i < waits->count; i++) {
		all_ns += (double)waits->rows[i].wait_ns;
	}
	for (size_t i = 0; i < report->rank_count; i++) {
		double own_ns = waits_for(waits, report->ranks[i].rank);
		if (own_ns > most_ns) {
			most_ns = own_ns;
			most = report->ranks[i].rank;
		}
	}
	double least = report->rank_count > 2 ? OF_WAITS_LEAST : OF_WAITS_OF_TWO;
	if (most < 0 || most_ns < OF_TIME_LEAST * wall_ns || most_ns < least * all_ns ||
	    hk_findings_explain_rank(findings, most) ||
	    messages_add(waits, report, most, most_ns, findings)) {
		return;
	}
	struct place longest = longest_for(waits, most);
	hk_name_print_function(name, NAME_COLUMNS, longest.row->function);
	hk_finding_add(
	    findings, HK_TOPIC_BALANCE, HK_WEIGHT_FINDING,
	    "the ranks waited %s for rank %" PRId32 ", %.0f %% of all their waits in %s calls",
	    hk_quantity_time(time, most_ns), most, 100 * most_ns / all_ns, hk_joint_name(report));
	hk_finding_classify(findings, "awaited-rank", HK_CONFIDENCE_MEDIUM, most_ns);
	hk_finding_about_rank(findings, most);
	hk_finding_about_function(findings, longest.row->function);
	hk_finding_evidence(findings, "%s of it in %s (%s)",
			    hk_quantity_time(part, longest.wait_ns), name,
			    hk_wait_pattern_name(longest.row->pattern));
	if (waits->lost > 0) {
		hk_finding_evidence(findings, "%" PRIu64 " records are missing", waits->lost);
	}
	hk_finding_advise(findings,
			  "hookcli report --by wait; hookcli export shows what rank %" PRId32
			  " did before",
			  most);
}
