#include "report/findings/mpi_findings.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "report/finding/share.h"
#include "text/name.h"
#include "text/quantity.h"

#define NAME_COLUMNS 48
/* Least share of the ranks' time in MPI's start and end, and least time of a rank in it. */
#define START_UP_SHARE 0.3
#define START_UP_NS 1e9
/* Messages are small and many up to this size, from this rate of a rank on, if sending them takes
 * this share of the ranks' time. */
#define SMALL_BYTES 1024.0
#define SMALL_RATE 5000.0 /* a second */
#define SMALL_SHARE 0.02

static bool is_mpi_of_main(const struct hk_group *group)
{
	return strcmp(group->domain, "mpi") == 0 && strcmp(group->role, "main") == 0;
}

static bool starts_or_ends(const char *function)
{
	static const char *const names[] = {"mpi_init",		"mpi_init_",	"mpi_init_thread",
					    "mpi_init_thread_", "mpi_finalize", "mpi_finalize_"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcasecmp(function, names[i]) == 0) {
			return true;
		}
	}
	return false;
}

static void start_up_add(const struct hk_report *report, const struct hk_groups *groups,
			 struct hk_findings *findings)
{
	double wall_ns = hk_report_wall_ns(report), spent_ns = 0;
	char time[HK_QUANTITY_BYTES];

	for (size_t i = 0; i < groups->count; i++) {
		const struct hk_group *group = &groups->groups[i];
		if (is_mpi_of_main(group) && starts_or_ends(group->function)) {
			spent_ns += (double)group->numbers.total_ns;
		}
	}
	double each_ns = spent_ns / (double)report->rank_count;
	if (spent_ns < START_UP_SHARE * wall_ns || each_ns < START_UP_NS) {
		return;
	}
	hk_finding_add(findings, HK_TOPIC_TIME, HK_WEIGHT_FINDING,
		       "starting and ending MPI takes %s of each rank, %.0f %% of its time",
		       hk_quantity_time(time, each_ns), 100 * spent_ns / wall_ns);
	hk_finding_classify(findings, "start-up", HK_CONFIDENCE_HIGH, spent_ns);
	hk_finding_advise(findings,
			  "a longer run shows what the program does; hookcli stacks during the "
			  "start shows what it waits for");
}

static bool sends(const char *function)
{
	return strcasestr(function, "send") != NULL;
}

static void small_messages_add(const struct hk_report *report, const struct hk_groups *groups,
			       struct hk_findings *findings)
{
	const struct hk_group *worst = NULL;
	double wall_ns = hk_report_wall_ns(report);
	char name[HK_NAME_BYTES(NAME_COLUMNS)], size[HK_QUANTITY_BYTES], rate[HK_QUANTITY_BYTES];
	char each[HK_QUANTITY_BYTES];

	for (size_t i = 0; i < groups->count; i++) {
		const struct hk_group *group = &groups->groups[i];
		const struct hk_report_numbers *numbers = &group->numbers;
		bool small = numbers->have_bytes && numbers->have_total && numbers->calls > 0 &&
			     (double)numbers->bytes <= SMALL_BYTES * (double)numbers->calls;
		if (is_mpi_of_main(group) && sends(group->function) && small &&
		    (double)numbers->total_ns >= SMALL_SHARE * wall_ns &&
		    (double)numbers->calls >= SMALL_RATE * wall_ns / 1e9 &&
		    (!worst || numbers->total_ns > worst->numbers.total_ns)) {
			worst = group;
		}
	}
	if (!worst) {
		return;
	}
	const struct hk_report_numbers *numbers = &worst->numbers;
	double calls = (double)numbers->calls;
	hk_name_print(name, NAME_COLUMNS, worst->function);
	hk_finding_add(
	    findings, HK_TOPIC_TIME, HK_WEIGHT_FINDING,
	    "%s of %s is called %s times a second by each rank: %.1f %% of the ranks' time", name,
	    hk_quantity_bytes(size, (uint64_t)((double)numbers->bytes / calls)),
	    hk_quantity_count(rate, calls / (wall_ns / 1e9)),
	    100 * (double)numbers->total_ns / wall_ns);
	hk_finding_classify(findings, "small-messages", HK_CONFIDENCE_HIGH,
			    (double)numbers->total_ns);
	hk_finding_about_function(findings, worst->function);
	hk_finding_evidence(findings, "%" PRIu64 " calls, %s each", numbers->calls,
			    hk_quantity_time(each, (double)numbers->total_ns / calls));
	hk_finding_advise(findings,
			  "send several values in one message; hookcli report --by stack "
			  "--function '%s' says who sends them (level record+stack)",
			  name);
}

void hk_findings_add_mpi(const struct hk_report *report, const struct hk_groups *groups,
			 struct hk_findings *findings)
{
	if (report->rank_count == 0 || hk_report_wall_ns(report) <= 0) {
		return;
	}
	start_up_add(report, groups, findings);
	small_messages_add(report, groups, findings);
}
