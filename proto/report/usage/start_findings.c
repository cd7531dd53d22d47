#include "report/usage/start_findings.h"

#include <stdbool.h>
#include <string.h>

#include "report/finding/share.h"
#include "text/mpi_name.h"
#include "text/quantity.h"

/* Least share of the ranks' time in MPI's start and end, and least time of a rank in it. */
#define START_UP_SHARE 0.3
#define START_UP_NS 1e9

static bool is_mpi_of_main(const struct hk_group *group)
{
	return strcmp(group->domain, "mpi") == 0 && strcmp(group->role, "main") == 0;
}

static bool starts_or_ends(const char *function)
{
	static const char *const names[] = {"init", "init_thread", "finalize"};
	char name[HK_MPI_NAME_BYTES];

	hk_mpi_name(function, name);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]) == 0) {
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

void hk_findings_add_start(const struct hk_report *report, const struct hk_groups *groups,
			   struct hk_findings *findings)
{
	if (report->rank_count == 0 || hk_report_wall_ns(report) <= 0) {
		return;
	}
	start_up_add(report, groups, findings);
}
