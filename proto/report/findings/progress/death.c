#include "report/findings/progress/death.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/findings/progress/hang.h"
#include "report/findings/progress/standing.h"
#include "text/name.h"
#include "text/quantity.h"
#include "text/ranks.h"

#define NAME_COLUMNS 48
#define OPEN_MOST 4u	/* open calls with a line each */
#define TOGETHER_NS 1e9 /* ranks that end within this time were ended together */
#define LEFT_NS 6e10	/* most time between a rank that leaves and others that fail */
#define RANKS_BYTES 96

/* Returns whether RANK ended in a way that a program does not choose. In a job of several ranks a
 * status other than 0 ends the others too, so it counts there. */
static bool is_death(const struct hk_report *report, const struct hk_report_rank *rank)
{
	const struct hk_report_exit *end = &rank->exit;

	if (rank->running) {
		return false;
	}
	if (strcmp(end->kind, "signal") == 0 || strcmp(end->kind, "oom") == 0) {
		return true;
	}
	if (strcmp(end->kind, "vanished") == 0) {
		return report->rank_count > 1 && strcmp(report->job.exit, "exit 0") != 0;
	}
	return report->rank_count > 1 && strcmp(end->kind, "exited") == 0 && end->have_code &&
	       end->code != 0;
}

/* How a rank ended, the surest sign of its own death first. */
enum sign {
	SIGN_CRASH,	/* a signal that launchers do not send, or to one rank alone; no memory */
	SIGN_STATUS,	/* a status other than 0 */
	SIGN_VANISHED,	/* not observed */
	SIGN_REQUESTED, /* a signal by which users and launchers end programs */
};

static bool is_signal(const struct hk_report_exit *end, int number)
{
	return strcmp(end->kind, "signal") == 0 && end->have_code && end->code == number;
}

/* Whether more than one rank was ended by SIGKILL: then a launcher or a user did it. */
static bool kills_many(const struct hk_report *report)
{
	size_t count = 0;

	for (size_t i = 0; i < report->rank_count && count < 2; i++) {
		count += is_signal(&report->ranks[i].exit, SIGKILL);
	}
	return count > 1;
}

static enum sign sign_of(const struct hk_report *report, const struct hk_report_rank *rank)
{
	const struct hk_report_exit *end = &rank->exit;

	if (strcmp(end->kind, "exited") == 0) {
		return SIGN_STATUS;
	}
	if (strcmp(end->kind, "vanished") == 0) {
		return SIGN_VANISHED;
	}
	/* Also those that schedulers send before a limit, and that of a launcher's closed pipe. */
	static const int requests[] = {SIGTERM, SIGINT,	 SIGHUP,  SIGPIPE,
				       SIGXCPU, SIGUSR1, SIGUSR2, SIGALRM};
	bool requested = is_signal(end, SIGKILL) && kills_many(report);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		requested |= is_signal(end, requests[i]);
	}
	return requested ? SIGN_REQUESTED : SIGN_CRASH;
}

/* Returns whether X is more likely the cause than Y. */
static bool is_before(const struct hk_report *report, const struct hk_report_rank *x,
		      const struct hk_report_rank *y)
{
	int difference = (int)sign_of(report, x) - (int)sign_of(report, y);

	return difference != 0 ? difference < 0 : x->end_ns < y->end_ns;
}

/* Returns how many ranks ended like FIRST and with it, FIRST included. */
static size_t together_with(const struct hk_report *report, const struct hk_report_rank *first)
{
	size_t count = 0;

	for (size_t i = 0; i < report->rank_count; i++) {
		const struct hk_report_rank *rank = &report->ranks[i];
		count += is_death(report, rank) &&
			 sign_of(report, rank) == sign_of(report, first) &&
			 (double)rank->end_ns - (double)first->end_ns <= TOGETHER_NS;
	}
	return count;
}

/* Returns how many ranks died not earlier than FIRST, without FIRST. */
static size_t later_than(const struct hk_report *report, const struct hk_report_rank *first)
{
	size_t count = 0;

	for (size_t i = 0; i < report->rank_count; i++) {
		const struct hk_report_rank *rank = &report->ranks[i];
		count += rank != first && is_death(report, rank) && rank->end_ns >= first->end_ns;
	}
	return count;
}

/* Returns the only rank that waited for no other rank when all were ended, or NULL: one death ends
 * all, and the others were waiting for the rank that died. They had not waited long, else the job
 * hung and was ended for that. */
static const struct hk_report_rank *only_one_apart(const struct hk_report *report)
{
	const struct hk_report_rank *apart = NULL;

	for (size_t i = 0; i < report->rank_count; i++) {
		struct hk_standing standing = hk_standing_of(report, &report->ranks[i]);
		if (standing.joint ? standing.joint->open_ns >= HK_HANG_NS : apart != NULL) {
			return NULL;
		}
		apart = standing.joint ? apart : &report->ranks[i];
	}
	return apart;
}

static void end_text(const struct hk_report_exit *end, char *text, size_t size)
{
	if (strcmp(end->kind, "oom") == 0) {
		snprintf(text, size, "was killed because memory ran out");
	} else if (strcmp(end->kind, "signal") == 0) {
		snprintf(text, size, "was killed by signal %" PRId32 " (%s)", end->code,
			 strsignal(end->code));
	} else if (strcmp(end->kind, "vanished") == 0) {
		snprintf(text, size, "ended without notice (killed or crashed)");
	} else {
		snprintf(text, size, "ended with status %" PRId32, end->code);
	}
}

/* Adds a line for each open call of the first thread of RANK, outermost first. */
static void open_calls_add(struct hk_findings *findings, const struct hk_report *report,
			   const struct hk_report_rank *rank)
{
	char function[HK_NAME_BYTES(NAME_COLUMNS)], library[HK_NAME_BYTES(NAME_COLUMNS)];
	char age[HK_QUANTITY_BYTES];
	unsigned shown = 0;

	for (size_t i = 0; i < report->open_call_count && shown < OPEN_MOST; i++) {
		const struct hk_report_open_call *call = &report->open_calls[i];
		if (call->rank != rank->rank || strcmp(call->role, "main") != 0 ||
		    call->thread != rank->pid) {
			continue;
		}
		hk_name_print(function, NAME_COLUMNS, call->function);
		hk_name_print_end(library, NAME_COLUMNS, hk_name_base(call->library));
		hk_finding_evidence(findings, "it was in %s, called by %s, for %s", function,
				    library, hk_quantity_time(age, (double)call->open_ns));
		hk_finding_about_function(findings, call->function);
		shown++;
	}
	if (shown == 0) {
		hk_finding_evidence(findings, "it was in no hooked function");
	}
}

static void memory_add(struct hk_findings *findings, const struct hk_report *report,
		       const struct hk_report_rank *rank)
{
	char live[HK_QUANTITY_BYTES], peak[HK_QUANTITY_BYTES], kind[HK_NAME_BYTES(16)];

	if (rank->rss_peak_bytes > 0) {
		hk_finding_evidence(findings, "its resident memory was %s at the peak",
				    hk_quantity_bytes(peak, rank->rss_peak_bytes));
	}
	if (rank->memory_limit_bytes > 0) {
		hk_finding_evidence(findings, "its control group may use %s",
				    hk_quantity_bytes(live, rank->memory_limit_bytes));
	}
	for (size_t i = 0; i < report->memory_count; i++) {
		const struct hk_report_memory *row = &report->memory[i];
		if (row->rank != rank->rank || strcmp(row->role, "main") != 0 ||
		    strcmp(row->library, "*") != 0 || row->live_bytes == 0) {
			continue;
		}
		hk_name_print(kind, 16, row->kind);
		hk_finding_evidence(findings, "%s memory: %s live at its end, %s at the peak", kind,
				    hk_quantity_bytes(live, row->live_bytes),
				    hk_quantity_bytes(peak, row->peak_bytes));
	}
}

/* ---- a rank that leaves the job ---- */

/* Ranks that ended with status 0 before the first one of all others failed. */
struct leave {
	size_t left, failed;
	const struct hk_report_rank *last_left, *first_failed;
};

static bool has_left(const struct hk_report_rank *rank)
{
	return !rank->running && strcmp(rank->exit.kind, "exited") == 0 && rank->exit.have_code &&
	       rank->exit.code == 0;
}

/* Returns whether few ranks left and all others failed soon after, as those of gloo do when the
 * connection to a rank ends. */
static bool leave_find(const struct hk_report *report, struct leave *ret_leave)
{
	struct leave leave = {0};

	for (size_t i = 0; i < report->rank_count; i++) {
		const struct hk_report_rank *rank = &report->ranks[i];
		if (has_left(rank)) {
			leave.left++;
			leave.last_left = !leave.last_left || rank->end_ns > leave.last_left->end_ns
					      ? rank
					      : leave.last_left;
		} else if (is_death(report, rank)) {
			leave.failed++;
			leave.first_failed =
			    !leave.first_failed || rank->end_ns < leave.first_failed->end_ns
				? rank
				: leave.first_failed;
		}
	}
	*ret_leave = leave;
	if (leave.left == 0 || leave.failed == 0 ||
	    leave.left + leave.failed < report->rank_count) {
		return false;
	}
	double later_ns = (double)leave.first_failed->end_ns - (double)leave.last_left->end_ns;
	double most_ns = leave.left < leave.failed ? LEFT_NS : TOGETHER_NS;
	return sign_of(report, leave.first_failed) == SIGN_STATUS && leave.left <= leave.failed &&
	       later_ns >= 0 && later_ns <= most_ns;
}

static void ranks_text(const struct hk_report *report, bool left, char text[RANKS_BYTES])
{
	int32_t *ranks = calloc(report->rank_count, sizeof(*ranks));
	size_t count = 0;

	*text = '\0';
	for (size_t i = 0; ranks && i < report->rank_count; i++) {
		if (has_left(&report->ranks[i]) == left) {
			ranks[count++] = report->ranks[i].rank;
		}
	}
	if (ranks) {
		hk_ranks_print(text, RANKS_BYTES, ranks, count);
	}
	free(ranks);
}

static void leave_add(struct hk_findings *findings, const struct hk_report *report,
		      const struct leave *leave)
{
	char left[RANKS_BYTES], failed[RANKS_BYTES], when[HK_QUANTITY_BYTES];
	char later[HK_QUANTITY_BYTES];
	double later_ns = (double)leave->first_failed->end_ns - (double)leave->last_left->end_ns;

	ranks_text(report, true, left);
	ranks_text(report, false, failed);
	hk_finding_add(
	    findings, HK_TOPIC_PROGRESS, HK_WEIGHT_FINDING,
	    "rank%s %s ended (status 0) at %s; rank%s %s failed without it, from %s later "
	    "on",
	    leave->left == 1 ? "" : "s", left,
	    hk_quantity_time(when, (double)leave->last_left->end_ns), leave->failed == 1 ? "" : "s",
	    failed, hk_quantity_time(later, later_ns));
	hk_finding_classify(findings, "early-exit", HK_CONFIDENCE_MEDIUM, 0);
	for (size_t i = 0; i < report->rank_count; i++) {
		if (has_left(&report->ranks[i])) {
			hk_finding_about_rank(findings, report->ranks[i].rank);
		}
	}
	hk_finding_evidence(findings,
			    "rank %" PRId32 " was the first to fail, with status %" PRId32,
			    leave->first_failed->rank, leave->first_failed->exit.code);
	hk_finding_advise(findings, "hookcli log --ranks %s | tail shows its last calls", left);
}

void hk_death_add(struct hk_findings *findings, const struct hk_report *report)
{
	const struct hk_report_rank *first = NULL;
	char end[64], when[HK_QUANTITY_BYTES], others[64] = "";
	size_t count = 0;
	struct leave leave;

	if (leave_find(report, &leave)) {
		leave_add(findings, report, &leave);
		return;
	}
	for (size_t i = 0; i < report->rank_count; i++) {
		const struct hk_report_rank *rank = &report->ranks[i];
		if (is_death(report, rank)) {
			first = !first || is_before(report, rank, first) ? rank : first;
			count++;
		}
	}
	bool sure =
	    first && (sign_of(report, first) == SIGN_CRASH || together_with(report, first) == 1);
	if (first && !sure) {
		/* All were ended, by a user or a scheduler, or after the death of one of them. */
		bool unseen = sign_of(report, first) != SIGN_REQUESTED;
		first = unseen && count == report->rank_count ? only_one_apart(report) : NULL;
	}
	if (!first) {
		return;
	}
	end_text(&first->exit, end, sizeof(end));
	size_t later = later_than(report, first);
	if (later > 0) {
		snprintf(others, sizeof(others), ", before %zu other%s", later,
			 later == 1 ? "" : "s");
	}
	hk_finding_add(findings, HK_TOPIC_PROGRESS, HK_WEIGHT_FINDING,
		       "rank %" PRId32 " %s at %s%s", first->rank, end,
		       hk_quantity_time(when, (double)first->end_ns), others);
	hk_finding_classify(findings, "death", sure ? HK_CONFIDENCE_HIGH : HK_CONFIDENCE_MEDIUM, 0);
	hk_finding_about_rank(findings, first->rank);
	open_calls_add(findings, report, first);
	memory_add(findings, report, first);
	hk_finding_advise(findings, "hookcli log --ranks %" PRId32 " | tail shows its last calls",
			  first->rank);
}
