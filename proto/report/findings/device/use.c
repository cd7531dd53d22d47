#include "report/findings/device/use.h"

#include <string.h>

#include "report/model/activity.h"
#include "report/model/domains.h"

#define DEVICE "device" /* the domain of the devices' own records */

static bool is_api(const char *domain)
{
	static const char *const domains[] = {"cuda", "hip", "acl", "xpu"};
	for (size_t i = 0; i < sizeof(domains) / sizeof(domains[0]); i++) {
		if (strcmp(domain, domains[i]) == 0) {
			return true;
		}
	}
	return false;
}

static bool has(const char *function, const char *part)
{
	return strstr(function, part) != NULL;
}

/* A driver's function lies inside of its runtime's: only outermost calls are added. */
static void calls_add(struct hk_device_calls *calls, const struct hk_group *group)
{
	const struct hk_report_numbers *numbers = &group->numbers;
	double ns = (double)numbers->outermost_ns;
	uint64_t inner =
	    numbers->inner_calls < numbers->calls ? numbers->inner_calls : numbers->calls;
	uint64_t outer = numbers->calls - inner;
	calls->calls += outer;
	calls->ns += ns;
	calls->bytes += numbers->calls > 0
			    ? (double)numbers->bytes * (double)outer / (double)numbers->calls
			    : 0;
	if (!calls->function || ns > calls->function_ns) {
		calls->function = group->function;
		calls->function_ns = ns;
	}
}

static void api_add(struct hk_device_use *use, const struct hk_group *group)
{
	const char *function = group->function;
	if (has(function, "Launch")) {
		calls_add(&use->launches, group);
	} else if (has(function, "ynchronize")) {
		calls_add(&use->waits, group);
	} else if (has(function, "emcpy") && !has(function, "Async") && !has(function, "Peer")) {
		calls_add(&use->copies, group);
	}
}

/* Returns the time from the first call of a device's API of RANK to the last one; 0: none. */
static double window_ns(const struct hk_report *report, int32_t rank)
{
	double first = 0, last = 0;
	for (size_t i = 0; i < report->activity_count; i++) {
		const struct hk_report_activity *row = &report->activity[i];
		if (row->rank != rank || row->kind != HK__ACTIVITY_KIND__ACTIVITY_DOMAIN ||
		    !is_api(row->domain)) {
			continue;
		}
		for (size_t bin = 0; bin < row->count; bin++) {
			if (row->sum[bin] <= (bin > 0 ? row->sum[bin - 1] : 0)) {
				continue;
			}
			double from = row->start_ns + (double)bin * row->width_ns;
			double to =
			    from + row->width_ns < row->end_ns ? from + row->width_ns : row->end_ns;
			first = last > 0 && first < from ? first : from;
			last = to > last ? to : last;
		}
	}
	return last > first ? last - first : 0;
}

/* Whether the records of all processes that used a device are there. */
static bool is_whole(const struct hk_report *report)
{
	bool any = false;
	for (size_t i = 0; i < report->process_count; i++) {
		const struct hk_report_device_time *time = &report->processes[i].device_time;
		if (time->known && (time->note || time->dropped > 0)) {
			return false;
		}
		any |= time->known;
	}
	return any;
}

struct hk_device_use hk_device_use_of(const struct hk_report *report,
				      const struct hk_groups *groups)
{
	struct hk_device_use use = {.have_work = is_whole(report)};
	for (size_t i = 0; i < report->rank_count; i++) {
		double ns = window_ns(report, report->ranks[i].rank);
		use.ranks += ns > 0;
		use.window_ns += ns;
	}
	for (size_t i = 0; i < groups->count; i++) {
		const struct hk_group *group = &groups->groups[i];
		if (strcmp(group->role, "main") != 0) {
			continue;
		}
		if (strcmp(group->domain, DEVICE) == 0 && group->numbers.have_device) {
			use.works += group->numbers.calls;
			use.work_ns += (double)group->numbers.device_ns;
		} else if (is_api(group->domain)) {
			api_add(&use, group);
		} else if (group->numbers.have_total && !hk_domain_is_idle(group->domain)) {
			calls_add(&use.others, group);
		}
	}
	return use;
}
