#include "report/findings/progress/hang.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/hook.h"
#include "report/findings/progress/cut.h"
#include "report/findings/progress/standing.h"
#include "report/model/lookup.h"
#include "text/name.h"
#include "text/quantity.h"
#include "text/ranks.h"

#define NAME_COLUMNS 48
#define RANKS_BYTES 96
#define NAMED_MOST 4u		      /* awaited ranks with a line each */
#define TOGETHER_NS 2e9		      /* ranks that end within this time have ended together */
#define CALLS_OVER_NS 5e9	      /* recent time over which calls are counted */
#define YOUNG_NS UINT64_C(2000000000) /* a wait of that long may become a hang */

enum place {
	GONE,  /* ended before the others, or by itself */
	WORKS, /* in no call that waits for other ranks */
	TALKS, /* in such a call, not for long */
	WAITS, /* in such a call for `after_ns` or longer */
};

/* Where a rank is. */
struct stand {
	const struct hk_report_rank *rank;
	enum place place;
	bool named;   /* awaited, or apart from the others */
	bool follows; /* in a call that others have left: it waits for one that is named */
	const struct hk_report_open_call *wait; /* outermost call that waits for others, or NULL */
	const struct hk_report_open_call *last; /* innermost open call, or NULL */
	uint64_t calls;				/* of the function that most ranks wait in */
};

struct hang {
	const struct hk_report *report;
	uint64_t after_ns;    /* a call that is open for as long waits */
	struct stand *stands; /* one for each rank */
	size_t places[WAITS + 1];
	const char *function; /* that most ranks wait in */
	size_t in_function, named, follow;
	size_t late_waits; /* ranks in it for a shorter time than `after_ns` */
	uint64_t least_ns; /* shortest wait */
	double sum_ns;	   /* of all waits */
};

/* Returns when the last rank ended, or was last seen. */
static int64_t end_of(const struct hk_report *report)
{
	int64_t end = INT64_MIN;

	for (size_t i = 0; i < report->rank_count; i++) {
		end = report->ranks[i].end_ns > end ? report->ranks[i].end_ns : end;
	}
	return end;
}

/* Whether RANK was there until the job's end, which was at END_NS. */
static bool is_there(const struct hk_report_rank *rank, int64_t end_ns)
{
	if (rank->running) {
		return true;
	}
	bool ended_by_itself =
	    strcmp(rank->exit.kind, "exited") == 0 || strcmp(rank->exit.kind, "detached") == 0;
	return !ended_by_itself && (double)end_ns - (double)rank->end_ns <= TOGETHER_NS;
}

static void stand_find(const struct hang *hang, const struct hk_report_rank *rank, bool there,
		       struct stand *ret_stand)
{
	struct hk_standing standing = hk_standing_of(hang->report, rank);

	*ret_stand = (struct stand){.rank = rank,
				    .place = there ? WORKS : GONE,
				    .wait = standing.joint,
				    .last = standing.last};
	if (there && ret_stand->wait) {
		ret_stand->place = ret_stand->wait->open_ns >= hang->after_ns ? WAITS : TALKS;
	}
}

static uint64_t calls_of(const struct hk_report *report, int32_t rank, const char *function)
{
	uint64_t sum = 0;

	for (size_t i = hk_report_first_call(report, rank);
	     i < report->call_count && report->calls[i].rank == rank; i++) {
		const struct hk_report_call *call = &report->calls[i];
		if (call->function == function && strcmp(call->role, "main") == 0) {
			sum += call->numbers.calls;
		}
	}
	return sum;
}

/* Sets the function in which most of the waiting ranks are. */
static void function_find(struct hang *hang)
{
	for (size_t i = 0; i < hang->report->rank_count; i++) {
		const struct stand *stand = &hang->stands[i];
		size_t count = 0;
		if (stand->place != WAITS || stand->wait->function == hang->function) {
			continue;
		}
		for (size_t k = 0; k < hang->report->rank_count; k++) {
			count += hang->stands[k].place == WAITS &&
				 hang->stands[k].wait->function == stand->wait->function;
		}
		if (count > hang->in_function) {
			hang->in_function = count;
			hang->function = stand->wait->function;
		}
	}
}

/* Marks the ranks that are awaited; if all wait, those in another function than most; if all are in
 * the same, those with fewer calls of it than most. */
static void named_find(struct hang *hang)
{
	size_t count = hang->report->rank_count, waiting = hang->places[WAITS];
	uint64_t most = 0;
	size_t with_most = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t calls = hang->stands[i].calls;
		with_most = calls > most ? 1 : with_most + (calls == most);
		most = calls > most ? calls : most;
	}
	for (size_t i = 0; i < count; i++) {
		struct stand *stand = &hang->stands[i];
		if (waiting < count) {
			stand->named = stand->place != WAITS;
		} else if (hang->in_function < count) {
			stand->named = stand->wait->function != hang->function;
		} else {
			stand->named = stand->calls < most && 2 * with_most >= count;
		}
		hang->named += stand->named;
	}
}

/* Whether STAND's call was entered, and left again, by another rank. */
static bool was_left(const struct hang *hang, const struct stand *stand)
{
	const struct hk_report *report = hang->report;
	uint64_t calls = calls_of(report, stand->rank->rank, stand->wait->function);

	for (size_t i = 0; i < report->rank_count; i++) {
		const struct stand *other = &hang->stands[i];
		if (other->wait->function != stand->wait->function &&
		    calls_of(report, other->rank->rank, stand->wait->function) >= calls) {
			return true;
		}
	}
	return false;
}

/* All ranks wait, and several in other functions than most. Those in a call that others have left
 * follow from the others: a broadcast, for one, lets its root go on. */
static void follow_find(struct hang *hang)
{
	size_t count = hang->report->rank_count, left = 0;

	for (size_t i = 0; i < count; i++) {
		struct stand *stand = &hang->stands[i];
		stand->follows = stand->named && was_left(hang, stand);
		left += stand->follows;
	}
	for (size_t i = 0; i < count; i++) {
		struct stand *stand = &hang->stands[i];
		stand->follows = stand->follows && left < hang->named;
		stand->named = stand->named && !stand->follows;
	}
	hang->follow = left < hang->named ? left : 0;
	hang->named -= hang->follow;
}

/* Ranks that entered the collective of most later than the others wait there like them. */
static void late_waits_find(struct hang *hang)
{
	for (size_t i = 0; i < hang->report->rank_count; i++) {
		struct stand *stand = &hang->stands[i];
		if (stand->place == TALKS && stand->wait->function == hang->function &&
		    stand->wait->meaning == HK_MEANING_COLLECTIVE) {
			stand->place = WAITS;
			hang->places[TALKS]--;
			hang->places[WAITS]++;
			hang->in_function++;
			hang->sum_ns += (double)stand->wait->open_ns;
			hang->late_waits++;
		}
	}
}

/* Finds where all ranks are. Returns whether that is a hang. */
static bool hang_find(struct hang *hang)
{
	const struct hk_report *report = hang->report;
	int64_t end_ns = end_of(report);

	hang->least_ns = UINT64_MAX;
	for (size_t i = 0; i < report->rank_count; i++) {
		const struct hk_report_rank *rank = &report->ranks[i];
		struct stand *stand = &hang->stands[i];
		stand_find(hang, rank, is_there(rank, end_ns), stand);
		hang->places[stand->place]++;
		if (stand->place == WAITS) {
			uint64_t open_ns = stand->wait->open_ns;
			hang->least_ns = open_ns < hang->least_ns ? open_ns : hang->least_ns;
			hang->sum_ns += (double)open_ns;
		}
	}
	function_find(hang);
	late_waits_find(hang);
	/* Two ranks that talk make progress with each other. A single one does not: all it can talk
	 * to are waiting. If the last rank has just entered the call, the call may end. */
	if (hang->places[WAITS] == 0 || hang->places[TALKS] > 1 ||
	    hang->places[WAITS] < hang->places[WORKS] ||
	    (hang->late_waits > 0 && hang->in_function == report->rank_count)) {
		return false;
	}
	for (size_t i = 0; i < report->rank_count; i++) {
		hang->stands[i].calls = calls_of(report, report->ranks[i].rank, hang->function);
	}
	named_find(hang);
	if (hang->places[WAITS] == report->rank_count && hang->in_function < report->rank_count) {
		follow_find(hang);
	}
	return true;
}

/* ---- sentences ---- */

static void ranks_text(const struct hang *hang, bool named, char text[RANKS_BYTES])
{
	size_t count = 0;
	int32_t *ranks = calloc(hang->report->rank_count, sizeof(*ranks));

	*text = '\0';
	for (size_t i = 0; ranks && i < hang->report->rank_count; i++) {
		if (hang->stands[i].named == named && !hang->stands[i].follows) {
			ranks[count++] = hang->stands[i].rank->rank;
		}
	}
	if (ranks) {
		hk_ranks_print(text, RANKS_BYTES, ranks, count);
	}
	free(ranks);
}

/* Adds the line about STAND, a rank that is named. */
static void stand_add(struct hk_findings *findings, const struct hang *hang,
		      const struct stand *stand)
{
	char function[HK_NAME_BYTES(NAME_COLUMNS)], library[HK_NAME_BYTES(NAME_COLUMNS)];
	char age[HK_QUANTITY_BYTES], calls[sizeof(function) + 96] = "";
	/* MPI's own calls say nothing about the program. */
	const struct hk_report_open_call *in = stand->wait ? stand->wait : stand->last;
	int32_t rank = stand->rank->rank;
	uint64_t most = 0;

	for (size_t i = 0; i < hang->report->rank_count; i++) {
		most = hang->stands[i].calls > most ? hang->stands[i].calls : most;
	}
	if (stand->calls != most) {
		hk_name_print(function, NAME_COLUMNS, hang->function);
		snprintf(calls, sizeof(calls), "; it made %" PRIu64 " calls of %s, others %" PRIu64,
			 stand->calls, function, most);
	}
	if (stand->place == GONE) {
		hk_finding_evidence(findings, "rank %" PRId32 " ended at %s (%s)%s", rank,
				    hk_quantity_time(age, (double)stand->rank->end_ns),
				    stand->rank->exit.kind, calls);
	} else if (in) {
		hk_name_print(function, NAME_COLUMNS, in->function);
		hk_name_print_end(library, NAME_COLUMNS, hk_name_base(in->library));
		hk_finding_evidence(findings, "rank %" PRId32 " is in %s, called by %s, for %s%s",
				    rank, function, library,
				    hk_quantity_time(age, (double)in->open_ns), calls);
	} else {
		hk_finding_evidence(findings, "rank %" PRId32 " is in no hooked function%s", rank,
				    calls);
	}
}

/* Writes which ranks are apart from the waiting ones, and how. */
static void apart_text(const struct hang *hang, char *text, size_t size)
{
	char ranks[RANKS_BYTES];
	const char *plural = hang->named == 1 ? "" : "s";
	bool one = hang->named == 1;

	ranks_text(hang, true, ranks);
	if (hang->named == 0) {
		snprintf(text, size, "no rank does anything else");
	} else if (hang->places[WAITS] < hang->report->rank_count) {
		snprintf(text, size, "rank%s %s %s not entered it", plural, ranks,
			 one ? "has" : "have");
	} else if (hang->in_function < hang->report->rank_count) {
		snprintf(text, size, "rank%s %s wait%s in another one", plural, ranks,
			 one ? "s" : "");
	} else {
		snprintf(text, size, "rank%s %s made fewer calls of it", plural, ranks);
	}
}

static void advise(struct hk_findings *findings, const struct hang *hang)
{
	char ranks[RANKS_BYTES];

	ranks_text(hang, true, ranks);
	if (hang->report->job.closed) {
		hk_finding_advise(findings, "hookcli log%s%s shows the last calls",
				  hang->named > 0 ? " --ranks " : "", ranks);
	} else if (hang->named > 0) {
		hk_finding_advise(findings, "hookcli stacks --ranks %s", ranks);
	} else {
		hk_finding_advise(findings,
				  "compare the arguments of that call on all ranks (count, root, "
				  "tag, communicator): hookcli stacks");
	}
}

/* Whether STAND is named and not stuck in a hooked call: it may be at work. */
static bool may_work(const struct stand *stand)
{
	return stand->named && (stand->place == WORKS || stand->place == TALKS) &&
	       (!stand->last || stand->last->open_ns < HK_HANG_NS);
}

/* Returns how many of the awaited ranks make calls, with a line for the first ones. */
static size_t busy_add(struct hk_findings *findings, const struct hang *hang)
{
	size_t busy = 0;
	char rate[HK_QUANTITY_BYTES];

	for (size_t i = 0; i < hang->report->rank_count; i++) {
		const struct stand *stand = &hang->stands[i];
		if (!may_work(stand)) {
			continue;
		}
		double calls = hk_calls_lately(hang->report, stand->rank, CALLS_OVER_NS);
		if (calls >= 1 && busy++ < NAMED_MOST) {
			hk_finding_evidence(findings, "rank %" PRId32 " makes %s hooked calls/s",
					    stand->rank->rank, hk_quantity_count(rate, calls));
		}
	}
	return busy;
}

static void hang_write(struct hk_findings *findings, const struct hang *hang)
{
	char function[HK_NAME_BYTES(NAME_COLUMNS)], age[HK_QUANTITY_BYTES];
	char apart[RANKS_BYTES + 64], waiting[RANKS_BYTES];
	bool closed = hang->report->job.closed;
	size_t count = hang->report->rank_count, lines = 0,
	       waits = count - hang->named - hang->follow;

	hk_name_print(function, NAME_COLUMNS, hang->function);
	hk_quantity_time(age, (double)hang->least_ns);
	apart_text(hang, apart, sizeof(apart));
	ranks_text(hang, false, waiting);
	hk_finding_add(findings, HK_TOPIC_PROGRESS, HK_WEIGHT_FINDING,
		       "the job %s stuck for %s%s: rank%s %s wait%s in %s%s, %s",
		       closed ? "was" : "is", age, closed ? " when it ended" : "",
		       waits == 1 ? "" : "s", waiting, waits == 1 ? "s" : "", function,
		       waits > hang->in_function ? " or other such calls" : "", apart);
	hk_finding_about_function(findings, hang->function);
	for (size_t i = 0; i < count; i++) {
		if (hang->stands[i].named) {
			hk_finding_about_rank(findings, hang->stands[i].rank->rank);
			if (lines++ < NAMED_MOST) {
				stand_add(findings, hang, &hang->stands[i]);
			}
		}
	}
	for (size_t i = 0; i < count; i++) {
		const struct stand *stand = &hang->stands[i];
		if (stand->follows && lines++ < NAMED_MOST) {
			stand_add(findings, hang, stand);
		}
	}
	bool busy = busy_add(findings, hang) > 0, sure = hang->named > 0;
	for (size_t i = 0; i < count; i++) {
		sure = sure && !may_work(&hang->stands[i]);
	}
	hk_finding_classify(findings, busy ? "awaited-rank" : "hang",
			    sure ? HK_CONFIDENCE_HIGH : HK_CONFIDENCE_MEDIUM, hang->sum_ns);
	advise(findings, hang);
}

/* Adds that ranks make no progress, before that is called a hang. */
static void young_write(struct hk_findings *findings, const struct hang *hang)
{
	char age[HK_QUANTITY_BYTES];
	size_t waiting = hang->places[WAITS];

	hk_finding_add(findings, HK_TOPIC_TIME, HK_WEIGHT_FACT,
		       "%zu rank%s made no progress for %s; a hang is named after %d s", waiting,
		       waiting == 1 ? " has" : "s have",
		       hk_quantity_time(age, (double)hang->least_ns),
		       (int)(HK_HANG_NS / 1000000000));
	hk_finding_classify(findings, HK_NO_PROGRESS, HK_CONFIDENCE_LOW, 0);
}

int hk_hang_add(struct hk_findings *findings, const struct hk_report *report)
{
	size_t count = report->rank_count;
	struct stand *stands = count > 1 ? calloc(count, sizeof(*stands)) : NULL;
	struct hang hang = {.report = report, .after_ns = HK_HANG_NS, .stands = stands};
	struct hang young = {.report = report, .after_ns = YOUNG_NS, .stands = stands};

	if (count < 2) {
		return 0;
	}
	if (!stands) {
		return -ENOMEM;
	}
	if (hk_cut_add(findings, report)) {
		/* It says why ranks wait. */
	} else if (hang_find(&hang)) {
		hang_write(findings, &hang);
	} else if (!report->job.closed && hang_find(&young)) {
		young_write(findings, &young);
	}
	free(stands);
	return 0;
}
