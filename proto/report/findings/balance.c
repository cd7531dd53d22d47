#include "report/findings/balance.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/finding/stack_advice.h"
#include "report/findings/late.h"
#include "report/findings/progress/standing.h"
#include "report/findings/spread.h"
#include "report/model/activity.h"
#include "report/model/domains.h"
#include "report/model/lookup.h"
#include "report/wait/pattern.h"
#include "text/name.h"
#include "text/quantity.h"

#define NAME_COLUMNS 48
#define TOLD_FROM_NS 1e7 /* ns; less lost time is not a finding, however short the job */
/* Least share of the wall time that a late rank must cost, and that a wait for a processor must
 * cost. The first is small: where many processes share a processor, the ranks' work is a small part
 * of the wall time. */
#define LATE_OF_WALL 0.001
#define WAITING_OF_WALL 0.05
#define DELAY_SHARE 0.5 /* of a rank's extra work; so much is a wait for a processor */
/* A function is uneven if its highest time over its mean time reaches UNEVEN. It becomes a finding
 * if its slowest rank lost UNEVEN_OF_WALL of the wall time by it. */
#define UNEVEN 1.25
#define UNEVEN_OF_WALL 0.02
#define ONE_CALL 0.5 /* of the lost time; if one call took so much, it may be chance */
/* Least share of a rank's extra work that a function must explain to be its cause. */
#define CAUSE_SHARE 0.5
#define CAUSE_EXCESS 0.05 /* over the others' time: waits last as long as the job */
/* Excess that is more than a processor can lose to others on its core or caches. */
#define BEYOND_DISTURBANCE 0.4
#define CALL_NOISE_NS 100.0 /* what tracing may add to the work between two calls */
/* Least length of a batch in bins: within a bin, the time of an event is unknown. */
#define BATCH_BINS 2
#define CUT_HALVINGS 24	 /* 2^24 steps: finds the end of a batch to 1/16,000,000 of the span */
#define UNSEEN_MOST 0.25 /* largest share of the span in which a rank was sampled too rarely */

/* ---- work over time ---- */

/* The time in which every rank works, and the ends of its batches. Each batch holds an equal part
 * of the work of all ranks. */
struct span {
	double from_ns, to_ns;
	double cut_ns[HK_LATE_BATCHES + 1];
};

/* The activity rows of one rank and kind, one for each main process. */
struct rows {
	const struct hk_report_activity *first;
	size_t count;
};

static struct rows rows_of(const struct hk_report *report, size_t rank, Hk__ActivityKind kind)
{
	struct rows rows;

	rows.first =
	    hk_report_activity_find(report, report->ranks[rank].rank, kind, "", &rows.count);
	return rows;
}

static double between(struct rows rows, double from_ns, double to_ns)
{
	double sum = 0;

	for (size_t i = 0; i < rows.count; i++) {
		sum += hk_report_activity_until(&rows.first[i], to_ns) -
		       hk_report_activity_until(&rows.first[i], from_ns);
	}
	return sum;
}

/* Narrows SPAN to the bins of ROW between the first and the last bin with work, without these two.
 */
static void narrow(struct span *span, const struct hk_report_activity *row)
{
	size_t first = 0, last = row->count - 1;

	while (first < last && row->sum[first] <= 0) {
		first++;
	}
	while (last > first && row->sum[last] <= row->sum[last - 1]) {
		last--;
	}
	span->from_ns = fmax(span->from_ns, row->start_ns + (double)(first + 1) * row->width_ns);
	span->to_ns = fmin(span->to_ns, row->start_ns + (double)last * row->width_ns);
}

/* Returns the usual work of all ranks from SPAN's start until TO_NS. A rank without usual work, as
 * in jobs of older versions, counts with all of its work. */
static double work_until(const struct hk_report *report, const struct span *span, double to_ns)
{
	double sum = 0;

	for (size_t i = 0; i < report->rank_count; i++) {
		struct rows rows = rows_of(report, i, HK__ACTIVITY_KIND__ACTIVITY_USUAL);
		rows = rows.count > 0 ? rows : rows_of(report, i, HK__ACTIVITY_KIND__ACTIVITY_WORK);
		sum += between(rows, span->from_ns, to_ns);
	}
	return sum;
}

/* Returns the time at which all ranks together have done WORK. */
static double time_of(const struct hk_report *report, const struct span *span, double work)
{
	double low = span->from_ns, high = span->to_ns;

	for (unsigned i = 0; i < CUT_HALVINGS; i++) {
		double middle = (low + high) / 2;
		if (work_until(report, span, middle) < work) {
			low = middle;
		} else {
			high = middle;
		}
	}
	return high;
}

/* Cuts SPAN into batches of equal work, none shorter than LEAST_NS. Batches of equal time would
 * hold a step or two where ranks pause, and one step more of some ranks than of others. */
static void cut(struct span *span, const struct hk_report *report, double least_ns)
{
	double work = work_until(report, span, span->to_ns);

	span->cut_ns[0] = span->from_ns;
	for (size_t i = 1; i < HK_LATE_BATCHES; i++) {
		double at_ns = time_of(report, span, work * (double)i / HK_LATE_BATCHES);
		double latest_ns = span->to_ns - (double)(HK_LATE_BATCHES - i) * least_ns;
		span->cut_ns[i] = fmin(fmax(at_ns, span->cut_ns[i - 1] + least_ns), latest_ns);
	}
	span->cut_ns[HK_LATE_BATCHES] = span->to_ns;
}

/* Finds the time in which every rank works and cuts it into batches. Returns false if a rank has no
 * known work, if the time is too short, or if too much of it was sampled too rarely. */
static bool find_span(const struct hk_report *report, struct span *ret_span)
{
	double width_ns = 0, unseen_ns = 0;

	*ret_span = (struct span){.from_ns = -INFINITY, .to_ns = INFINITY};
	for (size_t i = 0; i < report->rank_count; i++) {
		struct rows work = rows_of(report, i, HK__ACTIVITY_KIND__ACTIVITY_WORK);
		for (size_t k = 0; k < work.count; k++) {
			width_ns = fmax(width_ns, work.first[k].width_ns);
		}
		if (work.count == 0) {
			return false;
		}
		struct span own = {.from_ns = -INFINITY, .to_ns = INFINITY};
		narrow(&own, &work.first[0]);
		ret_span->from_ns = fmax(ret_span->from_ns, own.from_ns);
		narrow(&own, &work.first[work.count - 1]);
		ret_span->to_ns = fmin(ret_span->to_ns, own.to_ns);
	}
	double length_ns = ret_span->to_ns - ret_span->from_ns;
	if (length_ns < HK_LATE_BATCHES * BATCH_BINS * width_ns) {
		return false;
	}
	for (size_t i = 0; i < report->rank_count; i++) {
		struct rows unseen = rows_of(report, i, HK__ACTIVITY_KIND__ACTIVITY_UNSEEN);
		unseen_ns = fmax(unseen_ns, between(unseen, ret_span->from_ns, ret_span->to_ns));
	}
	cut(ret_span, report, BATCH_BINS * width_ns);
	return unseen_ns <= UNSEEN_MOST * length_ns;
}

/* Returns each rank's amount of KIND in each batch, one rank after the other. The caller frees it
 * with free(). Returns NULL if out of memory. */
static double *batches_new(const struct hk_report *report, const struct span *span,
			   Hk__ActivityKind kind)
{
	double *batches = calloc(report->rank_count * HK_LATE_BATCHES, sizeof(*batches));

	for (size_t i = 0; batches && i < report->rank_count; i++) {
		struct rows rows = rows_of(report, i, kind);
		for (size_t k = 0; k < HK_LATE_BATCHES; k++) {
			batches[i * HK_LATE_BATCHES + k] =
			    between(rows, span->cut_ns[k], span->cut_ns[k + 1]);
		}
	}
	return batches;
}

static int find_late(const struct hk_report *report, const struct span *span, Hk__ActivityKind kind,
		     struct hk_late *ret_late)
{
	double *batches = batches_new(report, span, kind);
	int r = batches ? hk_late_find(batches, report->rank_count, ret_late) : -ENOMEM;

	free(batches);
	return r;
}

/* ---- why ---- */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static double time_in(const struct hk_report *report, size_t rank, const char *function)
{
	double sum = 0;

	for (size_t i = hk_report_first_call(report, report->ranks[rank].rank);
	     i < report->call_count && report->calls[i].rank == report->ranks[rank].rank; i++) {
		const struct hk_report_call *call = &report->calls[i];
		if (call->function == function && strcmp(call->role, "main") == 0) {
			sum += (double)call->numbers.total_ns;
		}
	}
	return sum;
}

/* Returns how long RANK was in hooked functions outside of MPI that MPI called: MPI sleeps and
 * polls while it waits for other ranks. */
static double time_below_mpi(const struct hk_report *report, size_t rank)
{
	int32_t number = report->ranks[rank].rank;
	double sum = 0;

	for (size_t i = hk_report_first_call(report, number);
	     i < report->call_count && report->calls[i].rank == number; i++) {
		const struct hk_report_call *call = &report->calls[i];
		if (strcmp(call->domain, "mpi") == 0 && strcmp(call->role, "main") == 0) {
			sum += (double)call->numbers.outermost_ns - (double)call->numbers.self_ns;
		}
	}
	return fmax(sum, 0);
}

/* The reason why a rank works longer. */
struct cause {
	const char *function; /* NULL: unknown */
	double more_ns;	      /* least extra time in the function, against the others */
	bool unclear;	      /* a function has enough extra time, but MPI may have called it */
};

/* Returns the function outside of MPI in which RANK has the most extra time over the median of the
 * others, at least LEAST_NS. All time below MPI calls is taken off first, because each function may
 * be the one that MPI called. OTHERS has room for all ranks. */
static struct cause cause_of(const struct hk_report *report, size_t rank, double least_ns,
			     double *others)
{
	int32_t number = report->ranks[rank].rank;
	double below_mpi = time_below_mpi(report, rank);
	struct cause cause = {0};

	for (size_t i = hk_report_first_call(report, number);
	     i < report->call_count && report->calls[i].rank == number; i++) {
		const struct hk_report_call *call = &report->calls[i];
		size_t count = 0;
		if (hk_wait_is_domain(call->domain) || strcmp(call->role, "main") != 0 ||
		    !call->numbers.have_total || hk_is_transport(call)) {
			continue;
		}
		double own = time_in(report, rank, call->function);
		if (own < least_ns || own <= cause.more_ns) {
			continue;
		}
		for (size_t k = 0; k < report->rank_count; k++) {
			if (k != rank) {
				others[count++] = time_in(report, k, call->function);
			}
		}
		double usual = median(others, count), more = own - usual;
		double needed = fmax(least_ns, CAUSE_EXCESS * usual);
		cause.unclear |= more >= needed;
		more -= below_mpi;
		if (more >= needed && more > cause.more_ns) {
			cause.function = call->function;
			cause.more_ns = more;
		}
	}
	return cause;
}

/* How long a rank was runnable without a processor, also at the end of calls in which it slept. */
struct delay {
	double own_ns, others_ns; /* the median of the others */
};

/* Finds the delay of RANK in SPAN. OTHERS has room for all ranks. */
static struct delay delay_of(const struct hk_report *report, const struct span *span, size_t rank,
			     double *others)
{
	struct delay delay = {0};
	size_t count = 0;

	for (size_t i = 0; i < report->rank_count; i++) {
		struct rows rows = rows_of(report, i, HK__ACTIVITY_KIND__ACTIVITY_DELAY);
		double own_ns = between(rows, span->from_ns, span->to_ns);
		if (i == rank) {
			delay.own_ns = own_ns;
		} else {
			others[count++] = own_ns;
		}
	}
	delay.others_ns = median(others, count);
	return delay;
}

/* Whether a function of MPI is counted only on RANK, so that its time counts as work. */
static bool is_counted_only(const struct hk_report *report, size_t rank)
{
	int32_t number = report->ranks[rank].rank;

	for (size_t i = 0; i < report->step_count; i++) {
		const struct hk_report_step *step = &report->steps[i];
		const char *name = strrchr(step->pattern, ':');
		if (step->rank != number || step->pinned || strcmp(step->to, "count") != 0) {
			continue;
		}
		for (size_t k = hk_report_first_call(report, number);
		     name && k < report->call_count && report->calls[k].rank == number; k++) {
			const struct hk_report_call *call = &report->calls[k];
			if (hk_wait_is_domain(call->domain) &&
			    strcmp(call->function, name + 1) == 0) {
				return true;
			}
		}
	}
	return false;
}

/* ---- sentences ---- */

static double wall_of(const struct hk_report *report)
{
	double wall = 0;

	for (size_t i = 0; i < report->rank_count; i++) {
		const struct hk_report_rank *rank = &report->ranks[i];
		wall += rank->end_ns > rank->start_ns ? (double)(rank->end_ns - rank->start_ns) : 0;
	}
	return wall / (double)report->rank_count;
}

static const char *others_of(const struct hk_report *report)
{
	return report->rank_count > 2 ? "the median of the others" : "the other one";
}

/* Completes the finding about the rank of LATE: the others wait for what it does longer. */
static void rank_classify(struct hk_findings *findings, const struct hk_report *report,
			  const char *kind, const struct hk_late *late)
{
	hk_finding_classify(findings, kind, HK_CONFIDENCE_HIGH,
			    (late->work - late->others) * (double)(report->rank_count - 1));
	hk_finding_about_rank(findings, report->ranks[late->rank].rank);
}

static void processors_advise(struct hk_findings *findings, const struct hk_report *report,
			      const struct hk_late *late)
{
	hk_finding_advise(findings,
			  "look for other processes on the processors of rank %" PRId32
			  ", and at its binding (taskset -p %" PRIu32 ")",
			  report->ranks[late->rank].rank, report->ranks[late->rank].pid);
}

/* Adds the sentence about a late rank: LATE says by how much it is late, CAUSE in which function.
 */
static void late_add(struct hk_findings *findings, const struct hk_report *report,
		     const struct hk_late *late, const struct cause *cause)
{
	char work[HK_QUANTITY_BYTES], more[HK_QUANTITY_BYTES], name[HK_NAME_BYTES(NAME_COLUMNS)];
	char why[sizeof(name) + 80];
	const char *joint = hk_joint_name(report);

	snprintf(why, sizeof(why), ", in no function that was hooked outside %s", joint);
	if (cause->function) {
		hk_name_print(name, NAME_COLUMNS, cause->function);
		snprintf(why, sizeof(why), ", %s of that in %s",
			 hk_quantity_time(more, cause->more_ns), name);
	} else if (cause->unclear) {
		*why = '\0';
	}
	hk_finding_add(findings, HK_TOPIC_BALANCE, HK_WEIGHT_FINDING,
		       "rank %" PRId32
		       " is late: between %s calls it works %s, %.0f %% (\302\261%.0f) above "
		       "%s%s",
		       report->ranks[late->rank].rank, joint, hk_quantity_time(work, late->work),
		       100 * late->excess, ceil(200 * late->error), others_of(report), why);
	rank_classify(findings, report, "late-rank", late);
	if (cause->function) {
		hk_finding_about_function(findings, cause->function);
		hk_finding_advise_stack(findings, report, "", cause->function);
	} else {
		hk_finding_advise(findings,
				  "hookcli stacks --ranks %" PRId32
				  " while it runs; or hook what it computes (--hooks)",
				  report->ranks[late->rank].rank);
	}
}

/* Adds the sentence about a rank whose extra work, as LATE says, is a wait for a processor: it gets
 * one late when it wakes up. */
static void delayed_add(struct hk_findings *findings, const struct hk_report *report,
			const struct hk_late *late, const struct delay *delay)
{
	char waited[HK_QUANTITY_BYTES], others[HK_QUANTITY_BYTES], more[HK_QUANTITY_BYTES];

	hk_finding_add(findings, HK_TOPIC_BALANCE, HK_WEIGHT_FINDING,
		       "rank %" PRId32 " waits for a processor: %s, %s %s; other processes had it",
		       report->ranks[late->rank].rank, hk_quantity_time(waited, delay->own_ns),
		       others_of(report), hk_quantity_time(others, delay->others_ns));
	rank_classify(findings, report, "no-processor", late);
	hk_finding_evidence(findings, "between %s calls it is %s later than %s",
			    hk_joint_name(report),
			    hk_quantity_time(more, late->work - late->others), others_of(report));
	processors_advise(findings, report, late);
}

/* Returns 1 if rank NUMBER works longer in the middle one of its batches when its work of KIND
 * counts, 0 if it does not, or -ENOMEM. */
static int works_longer(const struct hk_report *report, const struct span *span,
			Hk__ActivityKind kind, size_t number)
{
	double *batches = batches_new(report, span, kind);
	struct hk_late late;
	int r = batches ? hk_late_compare(batches, report->rank_count, number, &late) : -ENOMEM;

	free(batches);
	return r < 0 ? r : late.typical >= HK_LATE_EXCESS_LEAST;
}

/* Finds the rank that is late in work of KIND, as find_late. *RET_IN_OTHER is set to whether it
 * works longer in work of kind OTHER too. */
static int find_confirmed(const struct hk_report *report, const struct span *span,
			  Hk__ActivityKind kind, Hk__ActivityKind other, struct hk_late *ret_late,
			  bool *ret_in_other)
{
	int r = find_late(report, span, kind, ret_late);
	int longer = r > 0 ? works_longer(report, span, other, ret_late->rank) : 0;

	*ret_in_other = longer > 0;
	return longer < 0 ? longer : r;
}

/* Adds the rank that is late in its usual work and in all its work. A slow processor adds to all
 * work only. What counts as usual may differ between equal ranks: in 16 of 60 runs of LAMMPS by 5
 * to 13 %. Without such a rank, adds the rank that is late in all its work, provided that a
 * function explains it or that it is more than a slow processor explains. Returns 0 or -ENOMEM. */
static int find_and_add(struct hk_findings *findings, const struct hk_report *report,
			const struct span *span, double least_ns)
{
	const Hk__ActivityKind usual = HK__ACTIVITY_KIND__ACTIVITY_USUAL;
	const Hk__ActivityKind all = HK__ACTIVITY_KIND__ACTIVITY_WORK;
	double *others = calloc(report->rank_count, sizeof(*others));
	struct hk_late late;
	bool sure = false;
	int r = others ? find_confirmed(report, span, usual, all, &late, &sure) : -ENOMEM;

	r = r < 0 || sure ? r : find_confirmed(report, span, all, usual, &late, &sure);
	double more = r > 0 ? late.work - late.others : 0;
	double noise_ns =
	    r > 0 ? CALL_NOISE_NS * hk_joint_calls(report, report->ranks[late.rank].rank) : 0;
	if (r > 0 && more >= fmax(least_ns, noise_ns) && !is_counted_only(report, late.rank)) {
		struct cause cause = cause_of(report, late.rank, CAUSE_SHARE * more, others);
		struct delay delay = delay_of(report, span, late.rank, others);
		if (delay.own_ns - delay.others_ns >= DELAY_SHARE * more) {
			delayed_add(findings, report, &late, &delay);
		} else if (sure || cause.function || late.excess >= BEYOND_DISTURBANCE) {
			late_add(findings, report, &late, &cause);
		}
	}
	free(others);
	return r < 0 ? r : 0;
}

static void waiting_add(struct hk_findings *findings, const struct hk_report *report,
			const struct hk_late *late)
{
	char waited[HK_QUANTITY_BYTES], others[HK_QUANTITY_BYTES];

	hk_finding_add(findings, HK_TOPIC_BALANCE, HK_WEIGHT_FINDING,
		       "rank %" PRId32
		       " waits for a processor: between %s calls %s, %s %s; other processes "
		       "had it",
		       report->ranks[late->rank].rank, hk_joint_name(report),
		       hk_quantity_time(waited, late->work), others_of(report),
		       hk_quantity_time(others, late->others));
	rank_classify(findings, report, "no-processor", late);
	processors_advise(findings, report, late);
}

static bool has_no_processor(const struct hk_findings *findings, int32_t rank)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct hk_finding *finding = &findings->list[i];
		if (finding->rank_count == 1 && finding->ranks[0] == rank &&
		    strcmp(finding->kind, "no-processor") == 0) {
			return true;
		}
	}
	return false;
}

static int over_time_add(struct hk_findings *findings, const struct hk_report *report)
{
	struct span span;
	struct hk_late late;
	double wall = wall_of(report);

	if (!find_span(report, &span)) {
		return 0;
	}
	int r = find_and_add(findings, report, &span, fmax(LATE_OF_WALL * wall, TOLD_FROM_NS));
	r = r < 0 ? r : find_late(report, &span, HK__ACTIVITY_KIND__ACTIVITY_WAITING, &late);
	if (r > 0 && late.work - late.others >= fmax(WAITING_OF_WALL * wall, TOLD_FROM_NS) &&
	    !has_no_processor(findings, report->ranks[late.rank].rank)) {
		waiting_add(findings, report, &late);
	}
	return r < 0 ? r : 0;
}

/* Returns the rank whose main process spends most time in FUNCTION. */
static int32_t slowest_rank(const struct hk_report *report, const char *function)
{
	int32_t slowest = 0;
	uint64_t most = 0, sum = 0;

	for (size_t i = 0; i < report->call_count; i++) {
		const struct hk_report_call *call = &report->calls[i];
		sum = i > 0 && call->rank == report->calls[i - 1].rank ? sum : 0;
		if (call->function == function && strcmp(call->role, "main") == 0) {
			sum += call->numbers.total_ns;
		}
		if (sum > most) {
			most = sum;
			slowest = call->rank;
		}
	}
	return slowest;
}

/* Adds the function that lost most time by being uneven over the ranks. */
static void uneven_add(struct hk_findings *findings, const struct hk_report *report,
		       const struct hk_groups *groups)
{
	const struct hk_group *worst = NULL;
	char most_text[HK_QUANTITY_BYTES], mean_text[HK_QUANTITY_BYTES];
	char name[HK_NAME_BYTES(NAME_COLUMNS)];
	double ranks = (double)report->rank_count, lost = 0;

	for (size_t i = 0; i < groups->count; i++) {
		const struct hk_group *group = &groups->groups[i];
		double over = (double)group->rank_most_ns * (1 - 1 / fmax(group->imbalance, 1));
		if (strcmp(group->role, "main") == 0 && !hk_domain_is_idle(group->domain) &&
		    group->imbalance >= UNEVEN && over > lost) {
			worst = group;
			lost = over;
		}
	}
	if (!worst || lost < fmax(UNEVEN_OF_WALL * wall_of(report), TOLD_FROM_NS)) {
		return;
	}
	hk_name_print_function(name, NAME_COLUMNS, worst->function);
	int32_t slowest = slowest_rank(report, worst->function);
	hk_finding_add(
	    findings, HK_TOPIC_BALANCE, HK_WEIGHT_FINDING,
	    "time in %s is uneven: %s on rank %" PRId32 ", %s on average (imbalance %.2f)", name,
	    hk_quantity_time(most_text, (double)worst->rank_most_ns), slowest,
	    hk_quantity_time(mean_text, (double)worst->numbers.total_ns / ranks), worst->imbalance);
	/* Time in MPI is mostly waiting, which follows from what the ranks do elsewhere. */
	bool low =
	    hk_wait_is_domain(worst->domain) ||
	    (worst->numbers.have_latency && (double)worst->numbers.max_ns >= ONE_CALL * lost);
	hk_finding_classify(findings, "uneven-function",
			    low ? HK_CONFIDENCE_LOW : HK_CONFIDENCE_MEDIUM, lost);
	hk_finding_about_rank(findings, slowest);
	hk_finding_about_function(findings, worst->function);
}

int hk_balance_add(struct hk_findings *findings, const struct hk_report *report,
		   const struct hk_groups *groups)
{
	int r = over_time_add(findings, report);

	uneven_add(findings, report, groups);
	return r;
}
