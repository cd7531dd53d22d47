#include "report/usage/loader_findings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/finding/share.h"
#include "report/model/lookup.h"
#include "report/usage/rank_calls.h"
#include "text/name.h"
#include "text/quantity.h"

#define NAME_COLUMNS 48
/* Least part of the time of a rank, and least time, in which it waits for its workers. */
#define OF_RANK_LEAST 0.1
#define WAIT_NS_LEAST 2e8
#define CALLS_LEAST 16u	 /* of a rank: it waits again and again, not once for a child to end */
#define WORKS_LEAST 0.05 /* of its time; a rank that does nothing but wait has no steps */

static bool is_one_of(const char *name, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(name, names[i]) == 0) {
			return true;
		}
	}
	return false;
}

/* Whether CALL is made by a library of an MPI's runtime: its threads wait for messages all the
 * time. */
static bool is_of_runtime(const struct hk_report_call *call)
{
	static const char *const parts[] = {"libevent", "libpmix", "libopen-", "libmpi", "libuc"};
	const char *library = hk_name_base(call->library);
	bool found = false;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		found |= strncmp(library, parts[i], strlen(parts[i])) == 0;
	}
	return found;
}

/* Whether CALL waits for what another process sends: through a pipe, a socket or a semaphore.
 * Waits of event loops (epoll) are idle threads more often than not. */
static bool is_wait(const struct hk_report_call *call)
{
	static const char *const names[] = {
	    "poll",	"__poll_chk", "ppoll",	    "__ppoll_chk",   "select",
	    "pselect",	"read",	      "__read_chk", "readv",	     "recv",
	    "recvfrom", "recvmsg",    "sem_wait",   "sem_timedwait", "sem_clockwait"};

	return is_one_of(call->function, names, sizeof(names) / sizeof(names[0])) &&
	       !is_of_runtime(call);
}

static bool is_joint(const struct hk_report_call *call)
{
	return hk_domain_is_joint(call->domain);
}

/* Whether CALL is the Python function that returns the next batch of a data loader. */
static bool is_loader(const struct hk_report_call *call)
{
	return strcmp(call->domain, "python") == 0 && strstr(call->function, "__next__") &&
	       strcasestr(call->function, "dataloader");
}

/* The helpers of a rank. */
struct workers {
	size_t count;
	double life_ns, inside_ns; /* over all of them */
	const char *most;	   /* function with most of one worker's time; NULL: not known */
	uint64_t most_ns;
};

static void workers_add(const struct hk_report *report, const struct hk_report_rank *rank,
			struct workers *workers)
{
	for (size_t i = 0; i < report->process_count; i++) {
		const struct hk_report_process *process = &report->processes[i];
		double life_ns = (double)process->end_ns - (double)process->start_ns;
		if (process->rank != rank->rank || strcmp(process->role, "helper") != 0) {
			continue;
		}
		workers->count++;
		workers->life_ns += life_ns;
		workers->inside_ns += process->have_inside ? (double)process->inside_ns : 0;
		if (process->have_inside && *process->most &&
		    process->inside_ns > workers->most_ns) {
			workers->most = process->most;
			workers->most_ns = process->inside_ns;
		}
	}
}

/* What the ranks wait for their workers, or for their loader. */
struct starved {
	const struct hk_report *report;
	size_t ranks;
	double ns;
	const struct hk_report_call *most; /* with most of it */
	struct workers workers;
};

static void starved_add(struct starved *starved, const struct hk_rank_calls *calls, double ns)
{
	starved->ranks++;
	starved->ns += ns;
	if (!starved->most || calls->most->numbers.total_ns > starved->most->numbers.total_ns) {
		starved->most = calls->most;
	}
}

/* Adds the wait of RANK for its workers, which together live as long as it waits at least. Threads
 * of a rank may wait side by side, and a thread that only waits is idle: of their sum no more
 * counts than what the rank has left beside its processor time or its other waits. */
static void workers_wait_add(struct starved *starved, const struct hk_report_rank *rank)
{
	const struct hk_report *report = starved->report;
	struct hk_rank_calls waits = hk_rank_calls_sum(report, rank->rank, is_wait);
	struct hk_rank_calls joint = hk_rank_calls_sum(report, rank->rank, is_joint);
	double wall_ns = hk_report_rank_wall_ns(rank);
	double ns = fmin(waits.ns, wall_ns - fmax((double)rank->cpu_ns, joint.ns));
	struct workers workers = starved->workers;

	workers_add(report, rank, &workers);
	if (workers.life_ns - starved->workers.life_ns >= ns && waits.calls >= CALLS_LEAST &&
	    ns >= fmax(WAIT_NS_LEAST, OF_RANK_LEAST * wall_ns) &&
	    ns <= (1 - WORKS_LEAST) * wall_ns) {
		starved->workers = workers;
		starved_add(starved, &waits, ns);
	}
}

static void loader_wait_add(struct starved *starved, const struct hk_report_rank *rank)
{
	struct hk_rank_calls loads = hk_rank_calls_sum(starved->report, rank->rank, is_loader);

	if (loads.calls >= CALLS_LEAST &&
	    loads.total_ns >= fmax(WAIT_NS_LEAST, OF_RANK_LEAST * hk_report_rank_wall_ns(rank))) {
		starved_add(starved, &loads, loads.total_ns);
	}
}

/* Fills STARVED with what ADD finds on each rank. Returns whether half of the ranks or more
 * starve. A single one of many is a late rank. */
static bool starve(struct starved *starved, const struct hk_report *report,
		   void (*add)(struct starved *starved, const struct hk_report_rank *rank))
{
	*starved = (struct starved){.report = report};
	for (size_t i = 0; i < report->rank_count; i++) {
		add(starved, &report->ranks[i]);
	}
	return starved->ranks > 0 && 2 * starved->ranks >= report->rank_count;
}

static void workers_evidence(const struct starved *starved, struct hk_findings *findings)
{
	const struct workers *workers = &starved->workers;
	char name[HK_NAME_BYTES(NAME_COLUMNS)], most[sizeof(name) + 16] = "";

	if (workers->most) {
		hk_name_print(name, NAME_COLUMNS, workers->most);
		snprintf(most, sizeof(most), ", most in %s", name);
	}
	hk_finding_evidence(findings,
			    "%zu worker process%s: in hooked calls, without idle ones, for %.0f %% "
			    "of their time%s",
			    workers->count, workers->count == 1 ? "" : "es",
			    100 * workers->inside_ns / fmax(workers->life_ns, 1), most);
}

static void finding_add(const struct starved *starved, bool by_loader, struct hk_findings *findings)
{
	const struct hk_report_numbers *numbers = &starved->most->numbers;
	bool one = starved->report->rank_count == 1;
	double wall_ns = hk_report_wall_ns(starved->report);
	char name[HK_NAME_BYTES(NAME_COLUMNS)], time[HK_QUANTITY_BYTES], each[HK_QUANTITY_BYTES];

	hk_name_print(name, NAME_COLUMNS, starved->most->function);
	hk_finding_add(findings, HK_TOPIC_TIME, HK_WEIGHT_FINDING,
		       "%s wait%s for %s data loader%s: %s in %s, %.0f %% of %s time",
		       one ? "the program" : "the ranks", one ? "s" : "", one ? "its" : "their",
		       by_loader ? "" : ", or other worker processes",
		       hk_quantity_time(time, starved->ns), name, 100 * starved->ns / wall_ns,
		       one ? "its" : "their");
	hk_finding_classify(findings, "slow-loader",
			    by_loader ? HK_CONFIDENCE_HIGH : HK_CONFIDENCE_MEDIUM, starved->ns);
	hk_finding_about_function(findings, starved->most->function);
	hk_finding_evidence(
	    findings, "%s: %" PRIu64 " calls of rank %" PRId32 ", %s each", name, numbers->calls,
	    starved->most->rank,
	    hk_quantity_time(each, (double)numbers->total_ns / (double)numbers->calls));
	if (by_loader) {
		hk_finding_advise(findings,
				  "more or faster workers (num_workers, prefetch_factor); hookcli "
				  "report --by function shows what the loader calls");
		return;
	}
	workers_evidence(starved, findings);
	hk_finding_advise(findings,
			  "more or faster workers (num_workers, prefetch_factor); hookcli stacks "
			  "while it runs shows what they do; python3 -m hooktrace run --python "
			  "names the loader's functions");
}

bool hk_findings_add_loader(const struct hk_report *report, struct hk_findings *findings)
{
	struct starved starved;

	if (starve(&starved, report, loader_wait_add)) {
		finding_add(&starved, true, findings);
		return true;
	}
	if (starve(&starved, report, workers_wait_add)) {
		finding_add(&starved, false, findings);
		return true;
	}
	return false;
}
