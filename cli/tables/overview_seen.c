#include "cli/tables/overview_seen.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "report/model/activity.h"

/* Returns how much ROW grew in BIN. The first bin includes the time before, the last one the time
 * after. A collector that took over may have noted a time after the end of the process. */
static double grown(const struct hk_overview *overview, const struct hk_report_activity *row,
		    size_t bin)
{
	double begin_ns = (double)overview->start_ns + (double)bin * (double)overview->width_ns;
	double end_ns = begin_ns + (double)overview->width_ns;

	begin_ns = bin == 0 ? -INFINITY : begin_ns;
	end_ns = bin + 1 == overview->bins ? INFINITY : end_ns;
	return hk_report_activity_until(row, end_ns) - hk_report_activity_until(row, begin_ns);
}

/* Adds ROW to the bins as whole numbers that add up to its total. */
static void add_whole(const struct hk_overview *overview, const struct hk_report_activity *row,
		      struct hk_overview_rank *rank, int domain)
{
	double sum = 0, placed = 0;

	for (size_t i = 0; i < overview->bins; i++) {
		uint64_t *to = domain < 0 ? &rank->bins[i].calls : &rank->bins[i].busy_ns[domain];
		sum += grown(overview, row, i);
		uint64_t here = sum > placed ? (uint64_t)(sum - placed + 0.5) : 0;
		*to += here;
		placed += (double)here;
	}
}

static int add_row(struct hk_overview *overview, const struct hk_report_activity *row,
		   struct hk_overview_rank *rank)
{
	int domain;

	switch (row->kind) {
	case HK__ACTIVITY_KIND__ACTIVITY_DOMAIN:
		domain = hk_overview_domain(overview, row->domain);
		if (domain < 0) {
			return domain;
		}
		add_whole(overview, row, rank, domain);
		return 0;
	case HK__ACTIVITY_KIND__ACTIVITY_CALLS:
		add_whole(overview, row, rank, -1);
		return 0;
	case HK__ACTIVITY_KIND__ACTIVITY_UNSEEN:
		for (size_t i = 0; i < overview->bins; i++) {
			double share = grown(overview, row, i) / (double)overview->width_ns;
			rank->bins[i].unknown += share < 1 ? share : 1;
		}
		return 0;
	default:
		return 0;
	}
}

int hk_overview_see(struct hk_overview *overview, const struct hk_report *report,
		    struct hk_overview_rank *rank)
{
	size_t count;

	if (!hk_report_activity_find(report, rank->rank, HK__ACTIVITY_KIND__ACTIVITY_CALLS, "",
				     &count)) {
		return 0;
	}
	rank->bins = calloc(overview->bins, sizeof(*rank->bins));
	rank->seen = true;
	int r = rank->bins ? 0 : -ENOMEM;
	for (size_t i = 0; i < report->activity_count && r == 0; i++) {
		if (report->activity[i].rank == rank->rank) {
			r = add_row(overview, &report->activity[i], rank);
		}
	}
	return r;
}
