#include "report/wait/waits_fill.h"

#include <errno.h>
#include <stdlib.h>

#include "report/wait/doubt.h"

#define SUMS_MOST 64u /* a root makes 32: what more there is was made up */

static int sum_fill(struct hk_report *report, struct hk_report_wait *to, const Hk__WaitSum *from)
{
	*to = (struct hk_report_wait){
	    .function = hk_report_strings_get(&report->strings, from->function),
	    .comm = from->comm,
	    .collectives = from->collectives,
	    .together = from->together,
	    .wait_ns = from->wait_ns,
	    .skew_ns = from->skew_ns,
	    .longest_skew_ns = from->longest_skew_ns,
	    .error_ns = from->error_ns,
	};
	for (size_t i = 0; i < from->n_late && to->late_count < HK_REPORT_LATE; i++) {
		to->late[to->late_count++] = (struct hk_report_late){
		    .rank = from->late[i]->rank,
		    .times = from->late[i]->times,
		    .wait_ns = from->late[i]->wait_ns,
		    .longest_ns = from->late[i]->longest_ns,
		};
	}
	return to->function ? 0 : -ENOMEM;
}

int hk_report_waits_fill(struct hk_report *report, const Hk__Snapshot *snapshot)
{
	const Hk__Waits *waits = snapshot->job ? snapshot->job->waits : NULL;
	size_t count = !waits ? 0 : waits->n_sums < SUMS_MOST ? waits->n_sums : SUMS_MOST;
	int r = 0;

	report->waits = calloc(count + 1, sizeof(*report->waits));
	if (!report->waits) {
		return -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = sum_fill(report, &report->waits[report->wait_count++], waits->sums[i]);
	}
	if (waits) {
		report->matching = (struct hk_report_matching){
		    .collectives = waits->collectives,
		    .doubtful = waits->doubtful,
		    .incomplete = waits->incomplete,
		    .late = waits->late,
		    .unsure = waits->unsure,
		    .dropped = waits->dropped,
		    .clockless = waits->clockless,
		    .other_ns = waits->other_ns,
		    .open = waits->open,
		    .doubt = hk_doubt_text(waits->doubt),
		    .doubt_rank = waits->doubt_rank,
		};
	}
	return r;
}
