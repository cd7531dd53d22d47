#include "report/model/activity.h"

#include <stdlib.h>
#include <string.h>

void hk_report_activity_free(struct hk_report *report)
{
	for (size_t i = 0; i < report->activity_count; i++) {
		free(report->activity[i].sum);
	}
	free(report->activity);
}

double hk_report_activity_until(const struct hk_report_activity *activity, double at_ns)
{
	double bins = (at_ns - activity->start_ns) / activity->width_ns;
	size_t last = activity->count - 1;

	if (activity->count == 0 || bins <= 0) {
		return 0;
	}
	size_t bin = bins < (double)last ? (size_t)bins : last;
	double before = bin > 0 ? activity->sum[bin - 1] : 0, here = activity->sum[bin] - before;
	double begin_ns = activity->start_ns + (double)bin * activity->width_ns;
	double width = activity->width_ns;
	/* The last bin ends at the last sample. */
	if (bin == last && activity->end_ns > begin_ns && activity->end_ns < begin_ns + width) {
		width = activity->end_ns - begin_ns;
	}
	double share = (at_ns - begin_ns) / width;
	return before + here * (share < 1 ? share : 1);
}

static bool is_row(const struct hk_report_activity *activity, int32_t rank, Hk__ActivityKind kind,
		   const char *domain)
{
	return activity->rank == rank && activity->kind == kind &&
	       strcmp(activity->domain, domain) == 0;
}

const struct hk_report_activity *hk_report_activity_find(const struct hk_report *report,
							 int32_t rank, Hk__ActivityKind kind,
							 const char *domain, size_t *ret_count)
{
	size_t low = 0, high = report->activity_count, first;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (report->activity[middle].rank < rank) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	for (first = low; first < report->activity_count && report->activity[first].rank == rank &&
			  !is_row(&report->activity[first], rank, kind, domain);
	     first++) {
	}
	*ret_count = 0;
	while (first + *ret_count < report->activity_count &&
	       is_row(&report->activity[first + *ret_count], rank, kind, domain)) {
		(*ret_count)++;
	}
	return *ret_count > 0 ? &report->activity[first] : NULL;
}
