#include "report/usage/error_findings.h"

#include <inttypes.h>
#include <string.h>

#include "report/finding/share.h"
#include "text/name.h"
#include "text/quantity.h"

#define NAME_COLUMNS 48
/* Least errors, their least share of the calls, and the least share of the ranks' time in these.
 * Programs look for files in many places when they start, and ask sockets that have nothing. */
#define ERRORS_LEAST 1000u
#define ERRORS_SHARE 0.5
#define TIME_SHARE 0.02

/* Returns how many calls were looked at: whether an untimed call failed is unknown. */
static uint64_t looked_at(const struct hk_report_numbers *numbers)
{
	return numbers->timed > 0 && numbers->timed < numbers->calls ? numbers->timed
								     : numbers->calls;
}

/* Whether GROUP's calls mostly fail and take time that matters. */
static bool is_retried(const struct hk_group *group, double wall_ns)
{
	const struct hk_report_numbers *numbers = &group->numbers;

	return strcmp(group->role, "main") == 0 && numbers->have_total &&
	       numbers->errors >= ERRORS_LEAST &&
	       (double)numbers->errors >= ERRORS_SHARE * (double)looked_at(numbers) &&
	       (double)numbers->total_ns >= TIME_SHARE * wall_ns;
}

void hk_findings_add_errors(const struct hk_report *report, const struct hk_groups *groups,
			    struct hk_findings *findings)
{
	double wall_ns = hk_report_wall_ns(report);
	char name[HK_NAME_BYTES(NAME_COLUMNS)], each[HK_QUANTITY_BYTES];
	size_t i = 0;

	/* Groups are in the order of their time. */
	while (i < groups->count && !is_retried(&groups->groups[i], wall_ns)) {
		i++;
	}
	if (i == groups->count || wall_ns <= 0) {
		return;
	}
	const struct hk_report_numbers *numbers = &groups->groups[i].numbers;
	hk_name_print(name, NAME_COLUMNS, groups->groups[i].function);
	hk_finding_add(findings, HK_TOPIC_TIME, HK_WEIGHT_FINDING,
		       "%s fails in %.0f %% of its calls, which take %.1f %% of the ranks' time",
		       name, 100 * (double)numbers->errors / (double)looked_at(numbers),
		       100 * (double)numbers->total_ns / wall_ns);
	hk_finding_classify(findings, "retried-errors", HK_CONFIDENCE_MEDIUM,
			    (double)numbers->total_ns);
	hk_finding_about_function(findings, groups->groups[i].function);
	hk_finding_evidence(
	    findings, "%" PRIu64 " of %" PRIu64 " calls%s fail, %s each", numbers->errors,
	    looked_at(numbers), looked_at(numbers) < numbers->calls ? " that were timed" : "",
	    hk_quantity_time(each, (double)numbers->total_ns / (double)numbers->calls));
	hk_finding_advise(
	    findings, "wait until the call can succeed (poll, a longer pause) instead of trying "
		      "again at once");
}
