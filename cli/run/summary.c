#include "cli/run/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/job/clock_check.h"
#include "cli/job/job_open.h"
#include "cli/job/job_root.h"
#include "cli/reasons/reasons.h"
#include "cli/run/job_page.h"
#include "cli/run/session.h"
#include "cli/target/program.h"
#include "report/build/build.h"
#include "report/model/report.h"
#include "report/write/write.h"
#include "text/name.h"
#include "wire/nodes.h"

#define SHOWN_COLUMNS 240
#define POLL_NS 20000000
#define WAIT_NS 20000000000u
#define LATE_NS 1000000000u
#define FAILED_NS \
	200000000u /* a launcher sends SIGKILL to other ranks a second after it sent SIGTERM */

/* Prints why no process of the command, or with NO_CALL no call, was seen, as far as the program
 * shows. */
static void explain_absence(const char *command, bool no_call)
{
	const char *disabled = getenv("HOOK_DISABLE");
	struct hk_check_result program;
	char path[PATH_MAX];

	if (disabled && *disabled && *disabled != '0') {
		fprintf(stderr, "! HOOK_DISABLE=%.64s: the agent stays off\n", disabled);
	} else if (hk_program_check(command, path, &program), program.state == HK_CHECK_FAILED) {
		fprintf(stderr, "! %s -> %s\n", program.detail, program.fix);
	} else if (no_call && program.state == HK_CHECK_NOTE) {
		fprintf(stderr, "! %s\n", program.detail);
	}
}

static void show(const struct hk_session *session, const char *command)
{
	struct hk_report_style style = {.colour = hk_command_colour(stderr),
					.files = session->shown};
	char shown[HK_NAME_BYTES(SHOWN_COLUMNS)];
	struct hk_report *report = NULL;
	struct hk_findings findings;
	struct hk_job job;

	if (hk_job_open(session->whole, &job) != HK_EXIT_DONE) {
		return;
	}
	int r = hk_clocks_check(job.snapshot, job.directory, HK_CLOCKS_SCREEN_RECORDS);
	r = r < 0 ? r : hk_report_new(job.snapshot, &report);
	if (r == 0) {
		r = hk_reasons_init(job.snapshot, job.elsewhere ? NULL : job.directory, report,
				    HK_REASONS_SUMMARY_RECORDS, &findings);
	}
	if (r < 0) {
		hk_error("no summary: %s", strerror(-r));
		hk_report_free(report);
		hk_job_close(&job);
		return;
	}
	fputc('\n', stderr);
	style.findings = &findings;
	hk_report_write_summary(report, stderr, &style);
	if (!report->call_count) {
		explain_absence(command, report->process_count > 0);
	}
	if (report->process_count > 0 && hk_job_page_write(&job, report)) {
		hk_name_print_end(shown, SHOWN_COLUMNS, session->shown);
		fprintf(stderr, "page:  %s/report.html   to be opened in a browser\n", shown);
	}
	hk_findings_fini(&findings);
	hk_job_close(&job);
	hk_report_free(report);
}

/* Returns whether other nodes write into the job's directory too. Sets *ret_over if all ranks have
 * come and the job has ended. */
static bool has_others(const struct hk_session *session, bool *ret_over)
{
	struct hk_nodes nodes;
	Hk__Snapshot *whole;

	*ret_over = false;
	if (hk_nodes_find(session->whole, &nodes) < 0) {
		return false;
	}
	bool others = nodes.count > 1;
	if (hk_nodes_load(session->whole, &nodes, &whole) == 0) {
		*ret_over = whole->job->closed && hk_nodes_ranks_came(whole);
		hk__snapshot__free_unpacked(whole, NULL);
	}
	hk_nodes_fini(&nodes);
	return others;
}

static void await_others(const struct hk_session *session, int status)
{
	const struct timespec pause = {0, POLL_NS};
	uint64_t end = hk_clock_monotonic_ns() + (status == 0 ? WAIT_NS : FAILED_NS);
	bool over;

	while (has_others(session, &over) && !over && hk_clock_monotonic_ns() < end) {
		nanosleep(&pause, NULL);
	}
}

/* Waits up to a second for other nodes that write into the job's directory, and returns whether
 * there are any. Without them only this node can describe the job's ranks. */
static bool others_come(const struct hk_session *session)
{
	const struct timespec pause = {0, POLL_NS};
	uint64_t end = hk_clock_monotonic_ns() + LATE_NS;
	bool over, come;

	while (!(come = has_others(session, &over)) && hk_clock_monotonic_ns() < end) {
		nanosleep(&pause, NULL);
	}
	return come;
}

void hk_summary_show(const struct hk_session *session, const char *command, int status)
{
	if (session->leaf && session->inside && !session->first) {
		return;
	}
	if (session->leaf && !session->unsent) {
		hk_job_root_await(session->whole, status == 0 ? WAIT_NS : FAILED_NS);
	} else if (session->shared && session->first) {
		await_others(session, status);
	} else if (session->shared && others_come(session)) {
		return;
	}
	show(session, command);
}
