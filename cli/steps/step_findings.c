#include "cli/steps/step_findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/steps/excess.h"
#include "cli/steps/growth.h"
#include "cli/steps/moment.h"
#include "cli/steps/shifts.h"
#include "report/finding/stack_advice.h"
#include "report/model/activity.h"
#include "text/name.h"
#include "text/quantity.h"

#define NAME_COLUMNS 48
#define CAUSE_SHARE 0.5	    /* of the change; what explains less is not its cause */
#define PROCESSOR_SHARE 0.4 /* of the change; it may be a wait for a processor */
#define DELAY_SHARE 0.5	    /* of the change; so much is a wait for a processor */
#define SCARCE_SHARE 0.1    /* of a step, waiting for a processor */
#define WORK_SHARE 0.5	    /* of the change; not if the rank worked so much more */
#define HIGH_CHANCE 1e-6    /* largest chance, and least change, of a high confidence */
#define HIGH_CHANGE 0.1

/* What a finding is made from. */
struct subject {
	const struct hk_steps *steps;
	const struct hk_shift *shift;
	const struct hk_report *report;
	struct hk_growth growth;
	struct hk_excess excess;    /* without a function: not known */
	bool explained;		    /* `growth` is the cause */
	double processor_before_ns, /* waits for a processor in a step */
	    processor_after_ns;
	bool delayed;	     /* these are of the ranks together, inside of calls too */
	double work_more_ns; /* growth of the leader's own time without them, on average */
};

/* ---- times ---- */

static struct hk_growth_span span_of(const struct subject *subject, size_t rank, size_t from,
				     size_t to)
{
	const struct hk_steps *steps = subject->steps;

	return (struct hk_growth_span){
	    .from_ns = hk_steps_begin(steps, rank, from),
	    .to_ns = hk_steps_begin(steps, rank, to),
	    .steps = (double)(to - from) * hk_steps_width(steps),
	};
}

/* ---- causes ---- */

/* Returns the amount of KIND of rank number RANK in a step of SPAN. */
static double activity_of(const struct subject *subject, size_t rank, Hk__ActivityKind kind,
			  const struct hk_growth_span *span)
{
	double origin_ns = (double)subject->steps->origin_ns, sum = 0;
	size_t count = 0;
	const struct hk_report_activity *rows = hk_report_activity_find(
	    subject->report, subject->steps->ranks[rank].rank, kind, "", &count);

	for (size_t i = 0; rows && i < count; i++) {
		sum += hk_report_activity_until(&rows[i], (double)span->to_ns - origin_ns) -
		       hk_report_activity_until(&rows[i], (double)span->from_ns - origin_ns);
	}
	return sum / span->steps;
}

/* Returns how long rank number RANK was runnable without a processor in a step of SPAN, between
 * calls of MPI. */
static double processor_wait(const struct subject *subject, size_t rank,
			     const struct hk_growth_span *span)
{
	return activity_of(subject, rank, HK__ACTIVITY_KIND__ACTIVITY_WAITING, span);
}

/* Returns the mean own time of the leader in the bins in [FROM, TO), without waits for a processor.
 */
static double work_of(const struct subject *subject, size_t from, size_t to)
{
	size_t leader = subject->shift->leader;
	struct hk_growth_span span = span_of(subject, leader, from, to);
	double sum = 0;

	for (size_t i = from; i < to; i++) {
		sum += hk_steps_own(subject->steps, leader, i);
	}
	return sum / (double)(to - from) - processor_wait(subject, leader, &span);
}

/* Sets the waits for a processor of the rank for which they grew most, and the
 * growth of work. */
static void processor_compare(struct subject *subject)
{
	const struct hk_shift *shift = subject->shift;
	double most = -1;

	for (size_t i = 0; i < shift->rank_count; i++) {
		size_t rank = shift->ranks[i];
		struct hk_growth_span before = span_of(subject, rank, shift->from, shift->at);
		struct hk_growth_span after = span_of(subject, rank, shift->at, shift->to);
		double before_ns = processor_wait(subject, rank, &before);
		double after_ns = processor_wait(subject, rank, &after);
		if (after_ns - before_ns > most) {
			most = after_ns - before_ns;
			subject->processor_before_ns = before_ns;
			subject->processor_after_ns = after_ns;
		}
	}
	subject->work_more_ns =
	    work_of(subject, shift->at, shift->to) - work_of(subject, shift->from, shift->at);
}

/* Finds whether the ranks waited for a processor for most of the change, inside of calls too. The
 * thread's own clock does not tell that where the thread slept. In a collective the delays of
 * several ranks add up, since each waits for the others. */
static void delay_compare(struct subject *subject)
{
	const Hk__ActivityKind kind = HK__ACTIVITY_KIND__ACTIVITY_DELAY;
	const struct hk_shift *shift = subject->shift;
	size_t count = shift->own ? 1 : shift->rank_count;
	double before_ns = 0, after_ns = 0;

	for (size_t i = 0; i < count; i++) {
		size_t rank = shift->own ? shift->leader : shift->ranks[i];
		struct hk_growth_span before = span_of(subject, rank, shift->from, shift->at);
		struct hk_growth_span after = span_of(subject, rank, shift->at, shift->to);
		before_ns += activity_of(subject, rank, kind, &before);
		after_ns += activity_of(subject, rank, kind, &after);
	}
	subject->delayed =
	    after_ns - before_ns >= DELAY_SHARE * (shift->after_ns - shift->before_ns);
	if (subject->delayed) {
		subject->processor_before_ns = before_ns;
		subject->processor_after_ns = after_ns;
	}
}

/* Whether the rank did not work longer but waited for a processor: longer than before, or so much
 * that the times of steps say little. */
static bool is_for_processor(const struct subject *subject)
{
	const struct hk_shift *shift = subject->shift;
	double more_ns = shift->after_ns - shift->before_ns;
	double waited_ns = subject->processor_after_ns - subject->processor_before_ns;
	bool worked = shift->own && subject->work_more_ns >= WORK_SHARE * more_ns;

	if (subject->delayed) {
		return true;
	}
	bool scarce = subject->processor_after_ns >= SCARCE_SHARE * shift->step_after_ns;
	return (waited_ns >= PROCESSOR_SHARE * more_ns || scarce) && !worked;
}

/* ---- the finding ---- */

static enum hk_confidence confidence_of(const struct subject *subject)
{
	const struct hk_shift *shift = subject->shift;

	if (is_for_processor(subject)) {
		return HK_CONFIDENCE_LOW;
	}
	/* A phase that needs more work is the same on all ranks. */
	bool all = shift->rank_count == subject->steps->rank_count;
	return shift->own && !all && shift->chance <= HIGH_CHANCE &&
		       shift->after_ns >= (1 + HIGH_CHANGE) * shift->before_ns
		   ? HK_CONFIDENCE_HIGH
		   : HK_CONFIDENCE_MEDIUM;
}

/* Returns what the job lost, summed over the ranks: the steps of all became longer. */
static double cost_of(const struct subject *subject)
{
	const struct hk_shift *shift = subject->shift;
	double steps = (double)(shift->to - shift->at) * hk_steps_width(subject->steps);

	return fmax(shift->step_after_ns - shift->step_before_ns, 0) * steps *
	       (double)subject->steps->rank_count;
}

static void sentence_add(const struct subject *subject, struct hk_findings *findings)
{
	const struct hk_shift *shift = subject->shift;
	const struct hk_steps *steps = subject->steps;
	char ranks[HK_SUBJECT_BYTES], since[HK_MOMENT_BYTES], until[HK_MOMENT_BYTES];
	char end[HK_MOMENT_BYTES + 40] = "";
	bool one = shift->rank_count == 1;

	if (shift->to < steps->count) {
		snprintf(end, sizeof(end), " until %s (step %" PRIu64 ")",
			 hk_moment_print(until, steps, shift->leader, shift->to),
			 hk_steps_number(steps, shift->to));
	}
	double percent = 100 * (shift->after_ns / fmax(shift->before_ns, 1) - 1);
	hk_finding_add(findings, HK_TOPIC_BALANCE, HK_WEIGHT_FINDING,
		       "%s %s slow: %s takes %.0f %% longer since %s (step %" PRIu64 ")%s",
		       hk_moment_subject(ranks, steps, shift), one ? "is" : "are",
		       !shift->own ? "each step"
		       : one	   ? "its own part of each step"
				   : "their own part of each step",
		       percent, hk_moment_print(since, steps, shift->leader, shift->at),
		       hk_steps_number(steps, shift->at), end);
	hk_finding_classify(findings, "fail-slow", confidence_of(subject), cost_of(subject));
	for (size_t i = 0; i < shift->rank_count; i++) {
		hk_finding_about_rank(findings, steps->ranks[shift->ranks[i]].rank);
	}
}

static void cause_add(const struct subject *subject, struct hk_findings *findings)
{
	const struct hk_growth *growth = &subject->growth;
	char before[HK_QUANTITY_BYTES], after[HK_QUANTITY_BYTES], name[HK_NAME_BYTES(NAME_COLUMNS)];

	hk_quantity_time(before, fmax(growth->before_ns, 0));
	hk_quantity_time(after, fmax(growth->after_ns, 0));
	if (subject->explained && growth->function) {
		hk_name_print(name, NAME_COLUMNS, growth->function);
		hk_finding_about_function(findings, growth->function);
		hk_finding_evidence(findings, "in %s: %s -> %s in a step", name, before, after);
	} else if (subject->excess.function) {
		hk_name_print(name, NAME_COLUMNS, subject->excess.function);
		hk_finding_about_function(findings, subject->excess.function);
		hk_finding_evidence(findings, "in %s, in the whole job: %s, the others %s", name,
				    hk_quantity_time(after, subject->excess.own_ns),
				    hk_quantity_time(before, subject->excess.others_ns));
	} else if (subject->explained) {
		hk_finding_evidence(findings,
				    "its own computation, in no recorded call: %s -> %s in a step",
				    before, after);
	}
	if (is_for_processor(subject)) {
		hk_finding_evidence(
		    findings, "waits for a processor: %s -> %s in a step; other processes had it",
		    hk_quantity_time(before, fmax(subject->processor_before_ns, 0)),
		    hk_quantity_time(after, subject->processor_after_ns));
	}
}

static void levels_add(const struct subject *subject, struct hk_findings *findings)
{
	const struct hk_shift *shift = subject->shift;
	const struct hk_steps *steps = subject->steps;
	size_t width = hk_steps_width(steps), others = steps->rank_count - shift->rank_count;
	char before[HK_QUANTITY_BYTES], after[HK_QUANTITY_BYTES], rest[128] = "";
	char number[24] = "";

	if (others > 0) {
		if (others > 1) {
			snprintf(number, sizeof(number), " %zu", others);
		}
		snprintf(rest, sizeof(rest), "; the other%s rank%s %s -> %s", number,
			 others == 1 ? "" : "s", hk_quantity_time(before, shift->others_before_ns),
			 hk_quantity_time(after, shift->others_after_ns));
	}
	if (shift->own) {
		hk_finding_evidence(
		    findings, "not waiting for others, rank %" PRId32 " took %s -> %s%s",
		    steps->ranks[shift->leader].rank, hk_quantity_time(before, shift->before_ns),
		    hk_quantity_time(after, shift->after_ns), rest);
	} else {
		hk_finding_evidence(findings, "no rank's own part of the steps changed then");
	}
	hk_finding_evidence(findings,
			    "a step of the job took %s -> %s, medians of %zu steps before and %zu "
			    "from then on",
			    hk_quantity_time(before, shift->step_before_ns),
			    hk_quantity_time(after, shift->step_after_ns),
			    (shift->at - shift->from) * width, (shift->to - shift->at) * width);
}

static void advice_add(const struct subject *subject, struct hk_findings *findings)
{
	const char *recorded = subject->explained ? subject->growth.function : NULL;
	const char *function = recorded ? recorded : subject->excess.function;
	int32_t rank = subject->steps->ranks[subject->shift->leader].rank;

	if (is_for_processor(subject)) {
		hk_finding_advise(findings,
				  "look for other processes on the processors of rank %" PRId32
				  "; hookcli report --by step",
				  rank);
	} else if (function) {
		hk_finding_advise_stack(findings, subject->report, "hookcli report --by step; ",
					function);
	} else {
		hk_finding_advise(findings,
				  "hookcli report --by step; hookcli stacks --ranks %" PRId32
				  " while it runs",
				  rank);
	}
}

/* Finds the cause of SUBJECT's shift. Returns 0 or -errno. */
static int cause_find(struct subject *subject, const Hk__Snapshot *snapshot, const char *directory)
{
	const struct hk_shift *shift = subject->shift;
	const struct hk_growth_query query = {
	    .rank = subject->steps->ranks[shift->leader].rank,
	    .own = shift->own,
	    .before = span_of(subject, shift->leader, shift->from, shift->at),
	    .after = span_of(subject, shift->leader, shift->at, shift->to),
	};
	double more_ns = shift->after_ns - shift->before_ns;
	int rc = hk_growth_read(snapshot, directory, &query, &subject->growth);

	subject->explained = rc == 0 && subject->growth.after_ns - subject->growth.before_ns >=
					    CAUSE_SHARE * more_ns;
	if (rc == 0 && shift->rank_count == 1 &&
	    !(subject->explained && subject->growth.function)) {
		rc = hk_excess_find(subject->report, query.rank, more_ns * query.after.steps,
				    &subject->excess);
	}
	processor_compare(subject);
	delay_compare(subject);
	return rc;
}

/* Adds the finding about SUBJECT's shift. Returns 0 or -errno. */
static int subject_add(struct subject *subject, const Hk__Snapshot *snapshot, const char *directory,
		       struct hk_findings *findings)
{
	int rc = cause_find(subject, snapshot, directory);

	if (rc == 0) {
		sentence_add(subject, findings);
		cause_add(subject, findings);
		levels_add(subject, findings);
		advice_add(subject, findings);
	}
	hk_growth_fini(&subject->growth);
	return rc;
}

int hk_step_findings_add(const struct hk_steps *steps, const Hk__Snapshot *snapshot,
			 const char *directory, const struct hk_report *report,
			 struct hk_findings *findings)
{
	struct hk_shifts shifts;
	int rc = hk_shifts_find(steps, report, &shifts);

	for (size_t i = 0; rc == 0 && i < shifts.count; i++) {
		struct subject subject = {
		    .steps = steps, .shift = &shifts.list[i], .report = report};
		rc = subject_add(&subject, snapshot, directory, findings);
	}
	hk_shifts_fini(&shifts);
	return rc;
}
