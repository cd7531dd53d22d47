/* rank_calls.h: what the main processes of a rank do in some of their functions. Pure functions of
 * the report, any thread. */
#ifndef HK_REPORT_USAGE_RANK_CALLS_H
#define HK_REPORT_USAGE_RANK_CALLS_H

#include <stdbool.h>

#include "report/model/report.h"

/* Returns whether ranks wait for each other, or for a device, in calls of DOMAIN. */
bool hk_domain_is_joint(const char *domain);

typedef bool hk_call_wanted_fn(const struct hk_report_call *call);

struct hk_rank_calls {
	double ns;	 /* in outermost calls of their domain, so that no time counts twice */
	double total_ns; /* in all calls */
	uint64_t calls, bytes;
	const struct hk_report_call *most; /* with most of the time; NULL: there is none */
};

/* Sums the calls of RANK's main processes that WANTED returns true for. */
struct hk_rank_calls hk_rank_calls_sum(const struct hk_report *report, int32_t rank,
				       hk_call_wanted_fn *wanted);

#endif
