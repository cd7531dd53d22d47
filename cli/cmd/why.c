/* hookcli why: what stands out in a job, by what it costs, with evidence and what to look at next.
 */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/job/clock_check.h"
#include "cli/job/job_open.h"
#include "cli/option.h"
#include "cli/reasons/reasons.h"
#include "cli/stacks/finding_stacks.h"
#include "cli/timeline/last_calls.h"
#include "report/build/build.h"
#include "report/findings/findings.h"
#include "report/write/findings_write.h"
#include "text/quantity.h"

#define OPTION_WATCH 0x100
#define OPTION_FAIL_ON 0x101
#define WATCH_S 2
#define TOLD_RECORDS 1000000u /* of which the reading takes a second or longer */

struct arguments {
	const char *job;
	bool json, watch, fails;
	enum hk_confidence fail_on;
};

static const struct argp_option options[] = {
    {"watch", OPTION_WATCH, NULL, 0, "Show the list again every 2 seconds until the job ends", 0},
    {"fail-on", OPTION_FAIL_ON, "CONFIDENCE", 0,
     "Exit with 1 if there is a finding of this confidence or a higher one: low, medium or high",
     0},
    HK_OPTION_JSON,
    {0},
};

static const char *confidence_word(size_t index)
{
	return index <= HK_CONFIDENCE_HIGH ? hk_confidence_name((enum hk_confidence)index) : NULL;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case OPTION_WATCH:
		arguments->watch = true;
		return 0;
	case OPTION_FAIL_ON:
		arguments->fail_on =
		    (enum hk_confidence)hk_option_word(state, "fail-on", confidence_word, argument);
		arguments->fails = true;
		return 0;
	case HK_OPTION_KEY_JSON:
		arguments->json = true;
		return 0;
	case ARGP_KEY_ARG:
		hk_option_only(state, "job", argument, &arguments->job);
		return 0;
	case ARGP_KEY_END:
		if (arguments->watch && arguments->json) {
			argp_error(state, "--watch shows text: leave --json out");
		}
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[JOB]",
    .doc =
	"Show what stands out in JOB, the most expensive first: ranks that hang, died, are late "
	"or become slow, wait for a processor, memory that grows, messages that are too small.\v"
	"It works while the job runs and afterwards. Each finding has the time that it costs, how "
	"sure it is, its evidence, and what to look at next. If a running job hangs, the stack of "
	"the first rank that the others wait for is shown too; its threads are asked as by "
	"hookcli stacks. Without evidence there is no finding.",
    .children = hk_option_children,
};

/* Returns whether FINDINGS have one that --fail-on asks for. */
static bool is_failure(const struct arguments *arguments, const struct hk_findings *findings)
{
	for (size_t i = 0; arguments->fails && i < findings->count; i++) {
		if (findings->list[i].weight == HK_WEIGHT_FINDING &&
		    findings->list[i].confidence >= arguments->fail_on) {
			return true;
		}
	}
	return false;
}

static int write_json(const struct hk_findings *findings, const struct hk_report *report)
{
	struct hk_json json = {.output = stdout};

	hk_json_open(&json, NULL, '{');
	hk_json_string(&json, "job", report->job.id);
	hk_json_bool(&json, "closed", report->job.closed);
	hk_json_open(&json, "findings", '[');
	hk_findings_write_json(findings, report, true, &json);
	hk_json_close(&json, ']');
	hk_json_close(&json, '}');
	putchar('\n');
	return ferror(stdout) ? -EIO : 0;
}

/* Adds what the records say. Returns 0, or 1 after a line on stderr if they cannot be read, or
 * -ENOMEM. */
static int records_add(const struct hk_job *job, const struct hk_report *report,
		       struct hk_findings *findings)
{
	uint64_t records = report->job.records - report->job.shed_records;
	bool tells =
	    records >= TOLD_RECORDS && records <= HK_REASONS_RECORDS && isatty(STDERR_FILENO);
	char count[HK_QUANTITY_BYTES];

	if (tells) {
		fprintf(stderr, "reading %s records ...",
			hk_quantity_count(count, (double)records));
	}
	int r = hk_reasons_add(job->snapshot, job->directory, report, HK_REASONS_RECORDS, findings);
	if (tells) {
		fputs("\r\033[K", stderr);
	}
	if (r < 0 && r != -ENOMEM) {
		hk_warning("cannot read the records, so waits between ranks, steps and drifts are "
			   "not here: %s",
			   r == -EBADMSG ? "they are damaged" : strerror(-r));
		return 1;
	}
	return r;
}

/* Adds the last calls of a rank that died. What cannot be read is left out. */
static void last_calls_add(const struct hk_job *job, const struct hk_report *report,
			   struct hk_findings *findings)
{
	struct hk_last_call calls[HK_LAST_CALLS];
	char start[HK_QUANTITY_BYTES], duration[HK_QUANTITY_BYTES];

	for (size_t i = 0; i < findings->count; i++) {
		const struct hk_finding *finding = &findings->list[i];
		if (strcmp(finding->kind, "death") != 0 || finding->rank_count != 1 ||
		    report->job.records - report->job.shed_records > HK_REASONS_RECORDS) {
			continue;
		}
		int count =
		    hk_last_calls_read(job->snapshot, job->directory, finding->ranks[0], calls);
		findings->current = i;
		for (int k = 0; k < count; k++) {
			hk_finding_evidence(
			    findings, "%s %s at %s, for %s", k == 0 ? "last calls:" : "then",
			    calls[k].function, hk_quantity_time(start, (double)calls[k].start_ns),
			    hk_quantity_time(duration, (double)calls[k].duration_ns));
		}
	}
}

static int write_list(const struct hk_job *job, const struct arguments *arguments,
		      const struct hk_report *report, bool *ret_failure)
{
	const struct hk_report_style style = {.colour = hk_command_colour(stdout),
					      .columns = hk_command_columns(stdout)};
	struct hk_findings findings;
	int r = hk_findings_init(&findings, report);

	if (r < 0) {
		return r;
	}
	r = hk_finding_stacks_add(job, report, &findings);
	int unread = r < 0 ? r : records_add(job, report, &findings);
	r = unread < 0 ? unread : r;
	last_calls_add(job, report, &findings);
	if (r == 0) {
		r = arguments->json ? write_json(&findings, report)
				    : hk_findings_write_text(&findings, report, &style, stdout);
	}
	*ret_failure = unread > 0 || is_failure(arguments, &findings);
	hk_findings_fini(&findings);
	return r;
}

/* Shows the list once. Returns an exit code, and sets *RET_LIVE to whether the job runs. */
static int show(const struct arguments *arguments, bool *ret_live)
{
	struct hk_report *report;
	struct hk_job job;
	bool failure = false;
	int code = hk_job_open(arguments->job, &job);

	*ret_live = false;
	if (code != HK_EXIT_DONE) {
		return code;
	}
	int r = hk_clocks_check(job.snapshot, job.directory, HK_CLOCKS_SCREEN_RECORDS);
	r = r < 0 ? r : hk_report_new(job.snapshot, &report);
	if (r == 0) {
		r = write_list(&job, arguments, report, &failure);
		hk_report_free(report);
	}
	if (r < 0 || fflush(stdout) != 0) {
		hk_error("cannot write the findings: %s", strerror(r < 0 ? -r : EIO));
		code = HK_EXIT_FAILED;
	} else if (job.damaged || failure) {
		code = HK_EXIT_FAILED;
	}
	*ret_live = job.live && r == 0 && !ferror(stdout);
	hk_job_close(&job);
	return code;
}

static int run(int argc, char **argv)
{
	const struct timespec pause = {.tv_sec = WATCH_S};
	struct arguments arguments = {0};
	bool live;

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) {
		return HK_EXIT_USAGE;
	}
	int code = show(&arguments, &live);
	while (arguments.watch && live) {
		nanosleep(&pause, NULL);
		fputs(isatty(STDOUT_FILENO) ? "\033[H\033[2J" : "\n", stdout);
		code = show(&arguments, &live);
	}
	return code;
}

static const struct hk_manual_values values[] = {{"fail-on", confidence_word}, {0}};

static const char examples[] = "hookcli why\tWhat stands out in the newest job\n"
			       "hookcli why --watch\tThe same every two seconds while it runs\n"
			       "hookcli why base --fail-on high\tA gate for a nightly run";

const struct hk_command hk_command_why = {
    {"why", "show what costs a job time, and who is slow, hangs or died", &argp,
     "0 the list was shown\n1 there is a finding that --fail-on asks for, or the job is damaged",
     values, examples},
    run};
