#include "report/usage/io_findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "report/finding/share.h"
#include "report/finding/stack_advice.h"
#include "report/usage/rank_calls.h"
#include "text/name.h"
#include "text/quantity.h"

#define NAME_COLUMNS 48
/* Least shares of the time: of the ranks together, and of a rank that counts as one of them. */
#define OF_RANKS_LEAST 0.1
#define OF_RANK_LEAST 0.05
#define IO_NS_LEAST 2e8 /* of a rank */
#define CALLS_LEAST 16u /* of a rank; a program that waits for its input once has fewer */
#define FUNCTIONS_NAMED 3u

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Whether a function of the domain "io" is for sockets. */
static bool is_of_sockets(const char *function)
{
	return (begins(function, "send") && !begins(function, "sendfile")) ||
	       begins(function, "recv") || begins(function, "__recv") ||
	       begins(function, "accept") || begins(function, "connect");
}

static bool is_io(const struct hk_report_call *call)
{
	return strcmp(call->domain, "io") == 0 && !is_of_sockets(call->function);
}

static bool is_io_of_main(const struct hk_group *group)
{
	return strcmp(group->domain, "io") == 0 && strcmp(group->role, "main") == 0 &&
	       !is_of_sockets(group->function) && group->numbers.have_total;
}

/* Adds the functions with most time. Groups are in that order. */
static void functions_add(const struct hk_groups *groups, struct hk_findings *findings)
{
	char name[HK_NAME_BYTES(NAME_COLUMNS)], all[HK_QUANTITY_BYTES], each[HK_QUANTITY_BYTES];
	char rate[HK_QUANTITY_BYTES], speed[HK_QUANTITY_BYTES + 8];
	unsigned shown = 0;

	for (size_t i = 0; i < groups->count && shown < FUNCTIONS_NAMED; i++) {
		const struct hk_report_numbers *numbers = &groups->groups[i].numbers;
		double ns = (double)numbers->total_ns;
		if (!is_io_of_main(&groups->groups[i]) || ns <= 0) {
			continue;
		}
		*speed = '\0';
		if (numbers->have_bytes && numbers->bytes > 0) {
			hk_quantity_bytes(rate, (uint64_t)((double)numbers->bytes / (ns / 1e9)));
			snprintf(speed, sizeof(speed), ", %s/s", rate);
		}
		hk_name_print(name, NAME_COLUMNS, groups->groups[i].function);
		hk_finding_evidence(findings, "%s: %" PRIu64 " calls, %s in all, %s each%s", name,
				    numbers->calls, hk_quantity_time(all, ns),
				    hk_quantity_time(each, ns / (double)numbers->calls), speed);
		shown++;
	}
}

/* Returns what may help against long calls of FUNCTION, as the beginning of advice. */
static const char *help_of(const char *function)
{
	if (strstr(function, "sync")) {
		return "force data to the disk less often; ";
	}
	if (strstr(function, "write")) {
		return "write larger parts at once, or in another thread; ";
	}
	if (strstr(function, "open") || strstr(function, "creat")) {
		return "keep files open, or put many small ones into few; ";
	}
	return "read larger parts at once, or ahead in another thread or process; ";
}

void hk_findings_add_io(const struct hk_report *report, const struct hk_groups *groups,
			struct hk_findings *findings)
{
	double wall_ns = hk_report_wall_ns(report), io_ns = 0, bytes = 0;
	char time[HK_QUANTITY_BYTES], rate[HK_QUANTITY_BYTES], name[HK_NAME_BYTES(NAME_COLUMNS)];
	const struct hk_report_call *most = NULL;
	size_t slow = 0;

	for (size_t i = 0; i < report->rank_count; i++) {
		const struct hk_report_rank *rank = &report->ranks[i];
		struct hk_rank_calls io = hk_rank_calls_sum(report, rank->rank, is_io);
		io_ns += io.ns;
		bytes += (double)io.bytes;
		slow += io.ns >= IO_NS_LEAST && io.calls >= CALLS_LEAST &&
			io.ns >= OF_RANK_LEAST * hk_report_rank_wall_ns(rank);
		if (io.most && (!most || io.most->numbers.total_ns > most->numbers.total_ns)) {
			most = io.most;
		}
	}
	if (2 * slow < report->rank_count || !most || io_ns < OF_RANKS_LEAST * wall_ns) {
		return;
	}
	hk_name_print(name, NAME_COLUMNS, most->function);
	hk_finding_add(findings, HK_TOPIC_TIME, HK_WEIGHT_FINDING,
		       "%s in I/O for %.0f %% of %s time: %s, %s/s, most in %s",
		       report->rank_count == 1 ? "the program is" : "the ranks are",
		       100 * io_ns / wall_ns, report->rank_count == 1 ? "its" : "their",
		       hk_quantity_time(time, io_ns),
		       hk_quantity_bytes(rate, (uint64_t)(bytes / (io_ns / 1e9))), name);
	hk_finding_classify(findings, "slow-io", HK_CONFIDENCE_MEDIUM, io_ns);
	hk_finding_about_function(findings, most->function);
	functions_add(groups, findings);
	hk_finding_advise_stack(findings, report, help_of(most->function), most->function);
}
