#include "report/findings/findings.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/build/group.h"
#include "report/finding/share.h"
#include "report/findings/agreement_findings.h"
#include "report/findings/balance.h"
#include "report/findings/bare_findings.h"
#include "report/findings/device/absent.h"
#include "report/findings/device/idle.h"
#include "report/findings/growth_findings.h"
#include "report/findings/node_findings.h"
#include "report/findings/processor_findings.h"
#include "report/findings/progress/death.h"
#include "report/findings/progress/hang.h"
#include "report/findings/progress/hang_notes.h"
#include "report/findings/wait_findings.h"
#include "report/model/domains.h"
#include "report/usage/error_findings.h"
#include "report/usage/io_findings.h"
#include "report/usage/loader_findings.h"
#include "report/usage/message_findings.h"
#include "report/usage/start_findings.h"
#include "report/usage/unseen_findings.h"
#include "ring/segment.h"
#include "text/name.h"
#include "text/quantity.h"

#define NAME_COLUMNS 48
#define NOTE_COLUMNS 96

static void notes_add(struct hk_findings *findings, const struct hk_report *report)
{
	for (size_t i = 0; i < report->note_count; i++) {
		if (hk_is_hang_note(&report->notes[i])) {
			continue;
		}
		hk_finding_add(findings, HK_TOPIC_DIVERGENCE, HK_WEIGHT_FINDING, "%s",
			       report->notes[i].text);
	}
}

static void lost_add(struct hk_findings *findings, const struct hk_report_job *job)
{
	char reason[HK_NAME_BYTES(NOTE_COLUMNS)];

	hk_name_print(reason, NOTE_COLUMNS, job->store_error);
	if (job->store_full) {
		char directory[HK_NAME_BYTES(NOTE_COLUMNS)];
		hk_name_print(directory, NOTE_COLUMNS, job->directory);
		hk_finding_add(findings, HK_TOPIC_RECORDS, HK_WEIGHT_WARNING,
			       "the store is full, counts and times go on, records do not: free "
			       "space in %s, or start with a smaller --keep",
			       directory);
	}
	if (job->calls_untracked > 0) {
		hk_finding_add(findings, HK_TOPIC_RECORDS, HK_WEIGHT_WARNING,
			       "%" PRIu64 " calls found no room in a segment and are not counted",
			       job->calls_untracked);
	}
	if (job->shed_records > 0) {
		hk_finding_add(findings, HK_TOPIC_RECORDS, HK_WEIGHT_WARNING,
			       "the oldest %" PRIu64 " of %" PRIu64
			       " records were given up (--keep): counts and times here are exact, "
			       "timelines begin later",
			       job->shed_records, job->records);
	}
	if (job->lost_records > 0) {
		hk_finding_add(
		    findings, HK_TOPIC_RECORDS, HK_WEIGHT_WARNING,
		    "%" PRIu64 " of %" PRIu64 " records lost: counts and times here are exact, "
		    "timelines have holes (%s%s)",
		    job->lost_records, job->records + job->lost_records,
		    *reason ? "not stored: " : "--on-full wait:MS, fewer --hooks", reason);
	}
}

/* Adds warnings about functions whose level the governor changed, and about functions that cost
 * more than the budget at a pinned level. */
static void steps_add(struct hk_findings *findings, const struct hk_report *report)
{
	const struct hk_report_step *lowered = NULL, *pinned = NULL;
	char pattern[HK_NAME_BYTES(NAME_COLUMNS)];
	size_t steps = 0;

	for (size_t i = 0; i < report->step_count; i++) {
		const struct hk_report_step *step = &report->steps[i];
		pinned = step->pinned && !pinned ? step : pinned;
		lowered = !step->pinned && !lowered ? step : lowered;
		steps += !step->pinned;
	}
	if (lowered) {
		hk_name_print(pattern, NAME_COLUMNS, lowered->pattern);
		hk_finding_add(
		    findings, HK_TOPIC_COST, HK_WEIGHT_WARNING,
		    "to hold the tracing cost, levels changed %zu time%s, first of %s on rank "
		    "%" PRId32 " from %s to %s: counts are exact (--budget)",
		    steps, steps == 1 ? "" : "s", pattern, lowered->rank, lowered->from,
		    lowered->to);
	}
	if (pinned) {
		hk_name_print(pattern, NAME_COLUMNS, pinned->pattern);
		hk_finding_add(findings, HK_TOPIC_COST, HK_WEIGHT_WARNING,
			       "tracing %s on rank %" PRId32
			       " costs more than the budget at level %s",
			       pattern, pinned->rank, pinned->to);
	}
}

/* Adds a warning about helpers and launchers that could not be traced. */
static void unseen_add(struct hk_findings *findings, const struct hk_report *report)
{
	const struct hk_report_process *first = NULL;
	char note[HK_NAME_BYTES(NOTE_COLUMNS)];
	size_t count = 0;

	for (size_t i = 0; i < report->process_count; i++) {
		const struct hk_report_process *process = &report->processes[i];
		bool unseen = *process->note && strcmp(process->agent, "off") == 0 &&
			      strcmp(process->role, "main") != 0;
		first = unseen && !first ? process : first;
		count += unseen;
	}
	if (first) {
		hk_name_print(note, NOTE_COLUMNS, first->note);
		hk_finding_add(findings, HK_TOPIC_COVERAGE, HK_WEIGHT_WARNING,
			       "%zu process%s not traced, first pid %" PRIu32 " of rank %" PRId32
			       ": %s",
			       count, count == 1 ? "" : "es", first->pid, first->rank, note);
	}
}

/* Adds warnings about slots, sites and calls that were not traced or timed for lack of room. */
static void unhooked_add(struct hk_findings *findings, const struct hk_report *report)
{
	uint64_t slots = 0, untimed = 0, calls = report->job.calls_untimed;

	for (size_t i = 0; i < report->process_count; i++) {
		const struct hk_report_process *process = &report->processes[i];
		untimed += process->sites_untimed;
		slots += (uint64_t)process->refused[HK_REFUSED_THUNKS] +
			 process->refused[HK_REFUSED_MEMORY];
	}
	if (slots > 0) {
		hk_finding_add(findings, HK_TOPIC_COVERAGE, HK_WEIGHT_WARNING,
			       "calls through %" PRIu64
			       " slots are missing: there was no room for them (name fewer "
			       "functions: --hooks)",
			       slots);
	}
	if (untimed > 0) {
		hk_finding_add(findings, HK_TOPIC_COVERAGE, HK_WEIGHT_WARNING,
			       "%" PRIu64 " call sites are counted and not timed: more than %u in "
			       "a process (name fewer functions: --hooks)",
			       untimed, HK_SITES_TIMED);
	}
	if (calls > 0) {
		hk_finding_add(findings, HK_TOPIC_COVERAGE, HK_WEIGHT_WARNING,
			       "%" PRIu64 " calls are counted and not timed: undescribed functions "
			       "were called from too many places, or too deep inside each other "
			       "(describe them in a hooks file, or name fewer: --hooks)",
			       calls);
	}
}

static void missing_add(struct hk_findings *findings, const struct hk_report *report)
{
	char note[HK_NAME_BYTES(NOTE_COLUMNS)];

	if (report->rank_count == 0) {
		hk_finding_add(findings, HK_TOPIC_COVERAGE, HK_WEIGHT_WARNING,
			       "no rank was traced: %s (hookcli doctor -- CMD)",
			       report->process_count > 0 ? "only shells and launchers were seen"
							 : "did the command start any?");
	} else if (report->rank_count < (size_t)report->job.world_size) {
		hk_finding_add(findings, HK_TOPIC_COVERAGE, HK_WEIGHT_WARNING,
			       "only %zu of %" PRId32
			       " ranks were traced: mpirun -n N hookcli run CMD "
			       "traces each where it runs",
			       report->rank_count, report->job.world_size);
	}
	unhooked_add(findings, report);
	for (size_t i = 0; i < report->process_count; i++) {
		const struct hk_report_process *process = &report->processes[i];
		if (*process->note && strcmp(process->role, "main") == 0) {
			hk_name_print(note, NOTE_COLUMNS, process->note);
			hk_finding_add(findings, HK_TOPIC_COVERAGE, HK_WEIGHT_WARNING,
				       "rank %" PRId32 ": %s", process->rank, note);
			break; /* the table of processes shows the others */
		}
	}
	unseen_add(findings, report);
	hk_findings_add_bare(report, findings);
	hk_findings_add_absent_devices(report, findings);
}

static void time_add(struct hk_findings *findings, const struct hk_report *report,
		     const struct hk_groups *groups)
{
	const struct hk_group *most = NULL;
	char line[160] = "", text[HK_QUANTITY_BYTES], name[HK_NAME_BYTES(NAME_COLUMNS)];
	size_t used = 0;

	struct hk_domain shares[HK_DOMAINS_MAX];
	size_t count = hk_domain_shares(shares);
	bool summed = false;

	for (size_t i = 0; i < count && used < sizeof(line); i++) {
		double share = hk_domain_share_of(report, shares[i].name);
		summed |= share > 1;
		if (share > 0) {
			used +=
			    (size_t)snprintf(line + used, sizeof(line) - used, "%s%.1f %% in %s",
					     used > 0 ? ", " : "", 100 * share, shares[i].title);
		}
	}
	if (used > 0) {
		hk_finding_add(findings, HK_TOPIC_TIME, HK_WEIGHT_FACT,
			       "of the ranks' time %s, with what these call%s; the rest is the "
			       "program's own, or was not hooked",
			       line, summed ? " (threads and processes summed)" : "");
	}
	for (size_t i = 0; i < groups->count && !most; i++) {
		const struct hk_group *group = &groups->groups[i];
		if (strcmp(group->role, "main") == 0 && !hk_domain_is_idle(group->domain) &&
		    group->numbers.have_total) {
			most = group;
		}
	}
	if (most && most->numbers.total_ns > 0) {
		hk_name_print(name, NAME_COLUMNS, most->function);
		hk_finding_add(findings, HK_TOPIC_TIME, HK_WEIGHT_FACT,
			       "most time is in %s: %s%s over all ranks, %.1f %% of their time",
			       name, most->numbers.estimated ? "about " : "",
			       hk_quantity_time(text, (double)most->numbers.total_ns),
			       100 * (double)most->numbers.total_ns /
				   fmax(hk_report_wall_ns(report), 1));
	}
}

/* Returns the row of the library that held most bytes at the peak of ROW, a row of library "*", or
 * NULL if unknown. */
static const struct hk_report_memory *holder_of(const struct hk_report *report,
						const struct hk_report_memory *row)
{
	const struct hk_report_memory *holder = NULL;

	for (size_t i = 0; i < report->memory_count; i++) {
		const struct hk_report_memory *at = &report->memory[i];
		if (at->rank == row->rank && at->role == row->role && at->device == row->device &&
		    at->kind == row->kind && strcmp(at->library, "*") != 0 && at->have_at_peak &&
		    (!holder || at->at_peak_bytes > holder->at_peak_bytes)) {
			holder = at;
		}
	}
	return holder && holder->at_peak_bytes > 0 ? holder : NULL;
}

static void peak_add(struct hk_findings *findings, const struct hk_report *report,
		     const struct hk_report_memory *row)
{
	const struct hk_report_memory *holder = holder_of(report, row);
	char peak[HK_QUANTITY_BYTES], high[HK_QUANTITY_BYTES], held[HK_QUANTITY_BYTES];
	char when[HK_QUANTITY_BYTES], name[HK_NAME_BYTES(NAME_COLUMNS)];
	char range[64] = "", most[sizeof(name) + 80] = "", kind[HK_NAME_BYTES(16)];

	hk_name_print(kind, 16, row->kind);
	if (row->peak_low < row->peak_high) {
		snprintf(range, sizeof(range), " (at most %s, records are missing)",
			 hk_quantity_bytes(high, row->peak_high));
	}
	if (holder) {
		hk_name_print_end(name, NAME_COLUMNS, hk_name_base(holder->library));
		snprintf(most, sizeof(most), "; most of it by %s: %s", name,
			 hk_quantity_bytes(held, holder->at_peak_bytes));
	}
	hk_finding_add(findings, HK_TOPIC_MEMORY, HK_WEIGHT_FACT,
		       "%s memory peaks on rank %" PRId32 ": %s%s at %s%s", kind, row->rank,
		       hk_quantity_bytes(peak, row->peak_bytes), range,
		       hk_quantity_time(when, (double)row->peak_time_ns), most);
}

/* Adds the highest peak over the ranks, for each kind. */
static void peaks_add(struct hk_findings *findings, const struct hk_report *report)
{
	static const char *const kinds[] = {"device", "managed", "pinned", "heap", "map"};

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		const struct hk_report_memory *highest = NULL;
		for (size_t i = 0; i < report->memory_count; i++) {
			const struct hk_report_memory *row = &report->memory[i];
			if (strcmp(row->library, "*") == 0 && strcmp(row->kind, kinds[k]) == 0 &&
			    strcmp(row->role, "main") == 0 &&
			    (!highest || row->peak_bytes > highest->peak_bytes)) {
				highest = row;
			}
		}
		if (highest && highest->peak_bytes > 0) {
			peak_add(findings, report, highest);
		}
	}
}

static void rss_add(struct hk_findings *findings, const struct hk_report *report)
{
	const struct hk_report_rank *highest = NULL;
	char text[HK_QUANTITY_BYTES];

	for (size_t i = 0; i < report->rank_count; i++) {
		const struct hk_report_rank *rank = &report->ranks[i];
		if (!highest || rank->rss_peak_bytes > highest->rss_peak_bytes) {
			highest = rank;
		}
	}
	bool has_heap = false;
	for (size_t i = 0; i < report->memory_count; i++) {
		has_heap |= strcmp(report->memory[i].kind, "heap") == 0;
	}
	if (highest && highest->rss_peak_bytes > 0) {
		hk_finding_add(findings, HK_TOPIC_MEMORY, HK_WEIGHT_FACT,
			       "resident memory peaks on rank %" PRId32
			       ": %s, as the kernel says%s",
			       highest->rank, hk_quantity_bytes(text, highest->rss_peak_bytes),
			       has_heap ? "" : "; what grows in the heap shows with --hooks libc");
	}
}

static void clocks_add(struct hk_findings *findings, const struct hk_report_job *job)
{
	if (job->nodes < 2) {
		hk_finding_add(findings, HK_TOPIC_CLOCKS, HK_WEIGHT_FACT,
			       "one node, one clock: times of all ranks compare exactly");
	} else if (!job->clocks_known) {
		hk_finding_add(findings, HK_TOPIC_CLOCKS, HK_WEIGHT_FACT,
			       "%zu nodes whose clocks were not compared: times of different nodes "
			       "may be apart by anything",
			       job->nodes);
	} else {
		hk_finding_add(findings, HK_TOPIC_CLOCKS, HK_WEIGHT_FACT,
			       "clocks of %zu nodes are right to \302\261%.0f \302\265s; %" PRIu64
			       " of %" PRIu64 " collective calls contradict them",
			       job->nodes, ceil((double)job->clock_error_ns / 1e3),
			       job->sync_violations, job->sync_checks);
	}
}

/* Whether no node is silent: a silent node may hold, or have evicted, unsent records. */
static bool nodes_are_here(const struct hk_report *report)
{
	for (size_t i = 0; i < report->node_count; i++) {
		if (strcmp(report->nodes[i].state, "silent") == 0) {
			return false;
		}
	}
	return true;
}

static void facts_add(struct hk_findings *findings, const struct hk_report *report)
{
	const struct hk_report_job *job = &report->job;
	double wall = hk_report_wall_ns(report);
	uint64_t objects = 0, patched = 0, refused = 0;

	if (job->records + job->lost_records == 0) {
		hk_finding_add(
		    findings, HK_TOPIC_RECORDS, HK_WEIGHT_FACT,
		    "no calls were recorded one by one: there are counts and times only");
	} else if (job->lost_records == 0 && job->shed_records == 0 && job->calls_untracked == 0 &&
		   !job->store_full && nodes_are_here(report)) {
		hk_finding_add(findings, HK_TOPIC_RECORDS, HK_WEIGHT_FACT,
			       "nothing was lost: all %" PRIu64 " records are there", job->records);
	}
	clocks_add(findings, job);
	hk_finding_add(findings, HK_TOPIC_COST, HK_WEIGHT_FACT,
		       "tracing cost an estimated %.2f %% of the ranks' time",
		       wall > 0 ? 100 * (double)job->tracing_cost_ns / wall : 0);
	for (size_t i = 0; i < report->process_count; i++) {
		objects += report->processes[i].objects;
		patched += report->processes[i].slots_patched;
		refused += report->processes[i].slots_refused;
	}
	hk_finding_add(findings, HK_TOPIC_COVERAGE, HK_WEIGHT_FACT,
		       "seen: %" PRIu64 " objects, %" PRIu64 " slots patched, %" PRIu64
		       " refused, in %zu process%s",
		       objects, patched, refused, report->process_count,
		       report->process_count == 1 ? "" : "es");
}

int hk_findings_init_urgent(struct hk_findings *findings, const struct hk_report *report)
{
	hk_findings_begin(findings, report->job.id);
	hk_death_add(findings, report);
	int r = hk_hang_add(findings, report);
	hk_findings_add_agreements(report, findings);
	hk_findings_add_awaited(report, findings);
	r = r ? r : findings->error;
	if (r < 0) {
		hk_findings_fini(findings);
	}
	return r;
}

int hk_findings_init(struct hk_findings *findings, const struct hk_report *report)
{
	struct hk_groups groups;
	int r = hk_groups_init(&groups, report, HK_GROUP_FUNCTION);

	if (r < 0) {
		*findings = (struct hk_findings){0};
		return r;
	}
	hk_findings_begin(findings, report->job.id);
	hk_death_add(findings, report);
	r = hk_hang_add(findings, report);
	hk_hang_notes_add(findings, report);
	notes_add(findings, report);
	lost_add(findings, &report->job);
	hk_findings_add_nodes(report, findings);
	steps_add(findings, report);
	missing_add(findings, report);
	hk_findings_add_agreements(report, findings);
	r = r == 0 && report->rank_count > 1 ? hk_balance_add(findings, report, &groups) : r;
	hk_findings_add_start(report, &groups, findings);
	hk_findings_add_errors(report, &groups, findings);
	hk_findings_add_idle(report, &groups, findings);
	hk_findings_add_messages(report, &groups, findings);
	if (!hk_findings_add_loader(report, findings)) {
		hk_findings_add_io(report, &groups, findings);
	}
	hk_findings_add_processors(report, findings);
	hk_findings_add_awaited(report, findings);
	hk_findings_add_skew(report, findings);
	hk_findings_add_growth(report, findings);
	time_add(findings, report, &groups);
	hk_findings_add_unseen(report, &groups, findings);
	peaks_add(findings, report);
	rss_add(findings, report);
	facts_add(findings, report);
	hk_findings_sort(findings);
	hk_groups_fini(&groups);
	r = r ? r : findings->error;
	if (r < 0) {
		hk_findings_fini(findings);
	}
	return r;
}
