/* hookcli log: prints the recorded calls of a job, one line each. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/job/job_open.h"
#include "cli/job/job_selection.h"
#include "cli/log/log_filter.h"
#include "cli/log/log_follow.h"
#include "cli/log/log_line.h"
#include "cli/option.h"
#include "cli/timeline/timeline.h"
#include "report/clock/job_clock.h"

#define OUTPUT_BUFFER_BYTES (1u << 16)

struct arguments {
	const char *job;
	bool follow, plain;
	struct hk_log_filter *filter;
	struct hk_option_ranks ranks;
};

enum { OPTION_FILTER = 256, OPTION_NO_COLOR };

static const struct argp_option options[] = {
    {"follow", 'f', NULL, 0, "Go on until the job has ended, some two seconds behind it", 0},
    {"filter", OPTION_FILTER, "EXPR", 0,
     "Only calls for which EXPR holds: 'function=MPI_* and duration>1ms', 'library=libfoo.so', "
     "'error or unwound', 'not (rank=0)'",
     0},
    HK_OPTION_RANKS,
    {"no-color", OPTION_NO_COLOR, NULL, 0, "Do not colour the lines on a terminal", 0},
    {0},
};

static void set_filter(struct arguments *arguments, const char *expression,
		       struct argp_state *state)
{
	char why[HK_LOG_WHY_BYTES];

	hk_log_filter_free(arguments->filter);
	arguments->filter = hk_log_filter_new(expression, why);
	if (!arguments->filter) {
		argp_error(state, "--filter: %s", why);
	}
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'f':
		arguments->follow = true;
		return 0;
	case OPTION_FILTER:
		set_filter(arguments, argument, state);
		return 0;
	case HK_OPTION_KEY_RANKS:
		hk_option_ranks(state, argument, &arguments->ranks);
		return 0;
	case OPTION_NO_COLOR:
		arguments->plain = true;
		return 0;
	case ARGP_KEY_ARG:
		hk_option_only(state, "job", argument, &arguments->job);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[JOB]",
    .doc = "Print the recorded calls of JOB, one line each, in the order in which they began: "
	   "seconds since the job's start, rank, thread, library, function(arguments) = result "
	   "<duration>. Arguments and results are kept at --level record+args.",
    .children = hk_option_children,
};

/* ---- a stored job: one more exporter ---- */

/* A line about missing records, kept until its time: the timeline reports all of them before the
 * first call. */
struct loss {
	uint64_t time_ns;
	char *line;
};

struct hk_exporter {
	FILE *output;
	struct hk_log_style style;
	struct loss *losses;
	size_t loss_count, loss_next;
};

/* Filter and style for the exporter, whose operations do not pass them. A process prints one
 * log. */
static const struct hk_log_filter *shown_filter;
static struct hk_log_style shown_style;

static struct hk_exporter *log_create(const struct hk_export_target *target)
{
	struct hk_exporter *log = calloc(1, sizeof(*log));

	if (log) {
		log->output = target->output;
		log->style = shown_style;
	}
	return log;
}

static int log_begin(struct hk_exporter *log, const struct hk_export_job *job)
{
	(void)log;
	(void)job;
	return 0;
}

static int log_thread(struct hk_exporter *log, struct hk_export_thread *thread)
{
	(void)log;
	(void)thread;
	return 0;
}

static int log_write(struct hk_exporter *log, const char *line, size_t length)
{
	if (fwrite_unlocked(line, 1, length, log->output) == length) {
		return 0;
	}
	return errno > 0 ? -errno : -EIO;
}

static int compare_losses(const void *left, const void *right)
{
	const struct loss *a = left, *b = right;

	return a->time_ns < b->time_ns ? -1 : a->time_ns > b->time_ns;
}

/* Writes the lines about records found missing at TIME_NS or earlier. */
static int write_losses(struct hk_exporter *log, uint64_t time_ns)
{
	int rc = 0;

	while (rc == 0 && log->loss_next < log->loss_count &&
	       log->losses[log->loss_next].time_ns <= time_ns) {
		const char *line = log->losses[log->loss_next++].line;
		rc = log_write(log, line, strlen(line));
	}
	return rc;
}

static int log_call(struct hk_exporter *log, struct hk_export_thread *thread,
		    const struct hk_slice *slice)
{
	char line[HK_LOG_LINE_BYTES];

	int rc = write_losses(log, slice->start_ns);

	if (rc < 0 || !hk_log_filter_pass(shown_filter, thread, slice)) {
		return rc;
	}
	return log_write(log, line, hk_log_line_call(&log->style, thread, slice, line));
}

static int log_close(struct hk_exporter *log, struct hk_export_thread *thread,
		     const struct hk_slice *slice)
{
	(void)log;
	(void)thread;
	(void)slice;
	return 0;
}

static int log_mark(struct hk_exporter *log, const struct hk_export_process *process,
		    uint64_t time_ns, const struct hk_export_gap *gap)
{
	char line[HK_LOG_LINE_BYTES];
	struct loss *losses = reallocarray(log->losses, log->loss_count + 1, sizeof(*log->losses));

	if (!losses) {
		return -ENOMEM;
	}
	log->losses = losses;
	hk_log_line_gap(&log->style, process, time_ns, gap, line);
	losses[log->loss_count] = (struct loss){time_ns, strdup(line)};
	if (!losses[log->loss_count].line) {
		return -ENOMEM;
	}
	log->loss_count++;
	qsort(losses, log->loss_count, sizeof(*losses), compare_losses);
	return 0;
}

static int log_end(struct hk_exporter *log)
{
	int rc = write_losses(log, UINT64_MAX);

	return rc == 0 && fflush(log->output) ? -errno : rc;
}

static void log_free(struct hk_exporter *log)
{
	for (size_t i = 0; log && i < log->loss_count; i++) {
		free(log->losses[i].line);
	}
	if (log) {
		free(log->losses);
	}
	free(log);
}

static const struct hk_exporter_ops log_exporter = {
    .format = "log",
    .suffix = "log",
    .create = log_create,
    .begin = log_begin,
    .thread = log_thread,
    .open = log_call,
    .close = log_close,
    .instant = log_call,
    .mark = log_mark,
    .end = log_end,
    .free = log_free,
};

static int report_result(const struct hk_timeline_result *result, const struct hk_job *job)
{
	if (result->damaged) {
		hk_warning("%" PRIu64 " damaged parts of the job's files were left out",
			   result->damaged);
	}
	if (result->processes == result->unrecorded) {
		hk_warning("no records: run with --level '*=record' to have a log");
	}
	if (job->live) {
		hk_warning("the job is still running: these are the calls stored so far; -f goes "
			   "on with it");
	}
	if (result->newer) {
		hk_warning("%zu files were written by a newer hooktrace and were left out",
			   result->newer);
	}
	return result->damaged || result->newer || job->damaged ? HK_EXIT_FAILED : HK_EXIT_DONE;
}

static int print_stored(const struct hk_job *job, const struct arguments *arguments)
{
	const struct hk_timeline_options timeline = {.from_ns = INT64_MIN,
						     .to_ns = INT64_MAX,
						     .ranks = arguments->ranks.spans,
						     .rank_count = arguments->ranks.count};
	struct hk_timeline_result result;
	int rc = hk_job_selection_check(job, &timeline);

	if (rc != HK_EXIT_DONE) {
		return rc;
	}
	shown_filter = arguments->filter;
	shown_style = (struct hk_log_style){
	    .origin_ns = hk_report_clock_origin(job->snapshot),
	    .colour = !arguments->plain && hk_command_colour(stdout),
	};
	const struct hk_export_target target = {.output = stdout};
	rc = hk_timeline_export(job->snapshot, job->directory, &log_exporter, &target, &timeline,
				&result);
	if (rc == -EPIPE) {
		return HK_EXIT_DONE; /* the reader closed the pipe */
	}
	if (rc < 0) {
		hk_error("log stopped: %s", strerror(-rc));
		return HK_EXIT_FAILED;
	}
	return report_result(&result, job);
}

static int follow(const struct hk_job *job, const struct arguments *arguments)
{
	const struct hk_log_options log = {.ranks = arguments->ranks.spans,
					   .rank_count = arguments->ranks.count,
					   .filter = arguments->filter,
					   .colour =
					       !arguments->plain && hk_command_colour(stdout)};

	return hk_log_follow(job->directory, &log, stdout);
}

static int run(int argc, char **argv)
{
	struct arguments arguments = {0};
	struct hk_job job;
	int rc;

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments)) {
		return HK_EXIT_USAGE;
	}
	rc = hk_job_open(arguments.job, &job);
	if (rc == HK_EXIT_DONE) {
		setvbuf(stdout, NULL, _IOFBF, OUTPUT_BUFFER_BYTES);
		rc = arguments.follow && !job.snapshot->job->closed
			 ? follow(&job, &arguments)
			 : print_stored(&job, &arguments);
		hk_job_close(&job);
	}
	hk_log_filter_free(arguments.filter);
	return rc;
}

static const char examples[] =
    "hookcli log --filter 'function=MPI_* and duration>5ms'\tPrint the long MPI calls\n"
    "hookcli log -f --filter error\tFollow a running job and print the calls that fail";

const struct hk_command hk_command_log = {
    {"log", "print the calls of a job, one line each; -f follows it", &argp, NULL, NULL, examples},
    run};
