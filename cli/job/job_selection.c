#include "cli/job/job_selection.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/span.h"
#include "report/build/build.h"
#include "report/model/report.h"
#include "report/model/role.h"
#include "text/quantity.h"

#define RANKS_BYTES 128u
#define RANKS_ROOM 32u /* room for one more rank and the dots */

static bool has_ranks(const Hk__Snapshot *snapshot, const struct hk_timeline_options *part)
{
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		int32_t rank = hk_report_rank_of(snapshot->processes[i]);
		if (hk_span_has_rank(part->ranks, part->rank_count, rank)) {
			return true;
		}
	}
	return false;
}

/* Writes the ranks of REPORT, which are sorted, as "0-3,7". */
static void write_ranks(const struct hk_report *report, char text[RANKS_BYTES])
{
	size_t used = 0;

	*text = '\0';
	for (size_t i = 0, next; i < report->rank_count; i = next) {
		const struct hk_report_rank *ranks = report->ranks;
		for (next = i + 1;
		     next < report->rank_count && ranks[next].rank == ranks[next - 1].rank + 1;
		     next++) {
		}
		if (used + RANKS_ROOM > RANKS_BYTES) {
			snprintf(text + used, RANKS_BYTES - used, ",...");
			return;
		}
		used += (size_t)snprintf(text + used, RANKS_BYTES - used, "%s%" PRId32,
					 i > 0 ? "," : "", ranks[i].rank);
		if (next > i + 1) {
			used += (size_t)snprintf(text + used, RANKS_BYTES - used, "-%" PRId32,
						 ranks[next - 1].rank);
		}
	}
}

static int check_ranks(const struct hk_job *job, const struct hk_report *report,
		       const struct hk_timeline_options *part)
{
	char ranks[RANKS_BYTES];

	if (part->rank_count == 0 || has_ranks(job->snapshot, part)) {
		return HK_EXIT_DONE;
	}
	write_ranks(report, ranks);
	if (*ranks) {
		hk_error("no process of the job has a rank of --ranks: there %s %s%s",
			 report->rank_count == 1 ? "is" : "are", ranks, job->live ? " so far" : "");
	} else {
		hk_error("no process of the job has a rank: leave --ranks out");
	}
	return HK_EXIT_USAGE;
}

static int check_from(const struct hk_job *job, const struct hk_report *report,
		      const struct hk_timeline_options *part)
{
	uint64_t end_ns = report->job.duration_ns;
	char end[HK_QUANTITY_BYTES];

	for (size_t i = 0; i < report->rank_count; i++) {
		int64_t ns = report->ranks[i].end_ns;
		end_ns = ns > 0 && (uint64_t)ns > end_ns ? (uint64_t)ns : end_ns;
	}
	/* The length of a job without times is unknown. */
	if (part->from_ns <= 0 || end_ns == 0 || (uint64_t)part->from_ns <= end_ns) {
		return HK_EXIT_DONE;
	}
	hk_error("--from is after the job's end: it %s %s", job->live ? "has run for" : "took",
		 hk_quantity_duration(end, end_ns));
	return HK_EXIT_USAGE;
}

int hk_job_selection_check(const struct hk_job *job, const struct hk_timeline_options *part)
{
	struct hk_report *report;

	if (part->rank_count == 0 && part->from_ns <= 0) {
		return HK_EXIT_DONE;
	}
	int rc = hk_report_new(job->snapshot, &report);
	if (rc < 0) {
		hk_error("cannot read the job: %s", strerror(-rc));
		return HK_EXIT_FAILED;
	}
	rc = check_ranks(job, report, part);
	rc = rc == HK_EXIT_DONE ? check_from(job, report, part) : rc;
	hk_report_free(report);
	return rc;
}
