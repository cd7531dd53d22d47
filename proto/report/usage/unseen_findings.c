#include "report/usage/unseen_findings.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "report/finding/share.h"
#include "report/finding/stack_advice.h"
#include "report/model/domains.h"
#include "report/usage/rank_calls.h"
#include "text/name.h"
#include "text/quantity.h"

#define NAME_COLUMNS 48
#define SLEEP_SHARE 0.1 /* of the ranks' time */
#define OWN_SHARE 0.5	/* of the ranks' time, on a processor in no hooked call */

/* Whether a main process of the job is a Python interpreter, by its command. */
static bool is_python(const struct hk_report *report)
{
	for (size_t i = 0; i < report->process_count; i++) {
		const struct hk_report_process *process = &report->processes[i];
		char word[256];
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(process->command, " "),
			 process->command);
		if (strcmp(process->role, "main") == 0 &&
		    strncmp(hk_name_base(word), "python", strlen("python")) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_sleep(const char *function)
{
	return strstr(function, "nanosleep") || strcmp(function, "usleep") == 0 ||
	       strcmp(function, "sleep") == 0;
}

/* Returns how long the libraries of MPI and of devices were in functions that they called: they may
 * sleep while they wait for other ranks or for a device. */
static double below_joint(const struct hk_groups *groups)
{
	double sum = 0;

	for (size_t i = 0; i < groups->count; i++) {
		const struct hk_group *group = &groups->groups[i];
		if (strcmp(group->role, "main") == 0 && hk_domain_is_joint(group->domain)) {
			sum += (double)group->numbers.outermost_ns - (double)group->numbers.self_ns;
		}
	}
	return fmax(sum, 0);
}

/* Adds the function in which the ranks sleep the longest: a pause, or what stands for a device. */
static void sleep_add(const struct hk_report *report, const struct hk_groups *groups,
		      struct hk_findings *findings)
{
	double wall_ns = hk_report_wall_ns(report), joint_ns = below_joint(groups);
	char name[HK_NAME_BYTES(NAME_COLUMNS)], time[HK_QUANTITY_BYTES];

	for (size_t i = 0; i < groups->count; i++) {
		const struct hk_group *group = &groups->groups[i];
		double ns = (double)group->numbers.total_ns;
		if (strcmp(group->role, "main") != 0 || strcmp(group->domain, "wait") != 0 ||
		    !is_sleep(group->function) || ns - joint_ns < SLEEP_SHARE * wall_ns) {
			continue;
		}
		hk_name_print(name, NAME_COLUMNS, group->function);
		hk_finding_add(findings, HK_TOPIC_TIME, HK_WEIGHT_FACT,
			       "the ranks sleep in %s: %s, %.0f %% of their time", name,
			       hk_quantity_time(time, ns), 100 * ns / wall_ns);
		hk_finding_advise_stack(findings, report,
					is_python(report)
					    ? "python3 -m hooktrace run --python names the Python "
					      "functions that do, a data loader's too; "
					    : "",
					group->function);
		return;
	}
}

static bool is_busy(const struct hk_report_call *call)
{
	return !hk_domain_is_idle(call->domain);
}

static bool is_python_function(const struct hk_report_call *call)
{
	return strcmp(call->domain, "python") == 0;
}

static void python_add(const struct hk_report *report, struct hk_findings *findings)
{
	double wall_ns = hk_report_wall_ns(report), own_ns = 0;
	bool traced = false;

	for (size_t i = 0; i < report->rank_count; i++) {
		const struct hk_report_rank *rank = &report->ranks[i];
		double busy_ns = hk_rank_calls_sum(report, rank->rank, is_busy).ns;
		own_ns += fmax((double)rank->cpu_ns - busy_ns, 0);
		traced |= hk_rank_calls_sum(report, rank->rank, is_python_function).calls > 0;
	}
	own_ns = fmin(own_ns, wall_ns);
	if (traced || own_ns < OWN_SHARE * wall_ns || !is_python(report)) {
		return;
	}
	hk_finding_add(findings, HK_TOPIC_TIME, HK_WEIGHT_FACT,
		       "%.0f %% of the ranks' time they compute in no hooked call",
		       100 * own_ns / wall_ns);
	hk_finding_advise(findings,
			  "python3 -m hooktrace run --python names the Python functions, among "
			  "them those of a data loader, and --apis those of torch; hookcli stacks "
			  "shows them while it runs");
}

void hk_findings_add_unseen(const struct hk_report *report, const struct hk_groups *groups,
			    struct hk_findings *findings)
{
	if (hk_report_wall_ns(report) > 0) {
		sleep_add(report, groups, findings);
		python_add(report, findings);
	}
}
