/* hookcli diff: compares two jobs, for people and for a CI pipeline. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/diff/diff_write.h"
#include "cli/job/job_open.h"
#include "cli/option.h"
#include "report/build/build.h"

#define ROWS 30u
#define SENTENCES 10u

/* Exit codes of diff only, see hookcli(1). */
enum { EXIT_SAME = 0, EXIT_EXCEEDED = 1, EXIT_ERROR = 2 };

enum { OPTION_FORMAT = 0x100, OPTION_FAIL_ON, OPTION_ROWS };

struct format {
	const char *name;
	int (*write)(const struct hk_diff *diff, FILE *output);
};

static const struct format formats[] = {
    {"text", hk_diff_write_text},
    {"json", hk_diff_write_json},
    {"html", hk_diff_write_html},
};

struct arguments {
	const char *jobs[2];
	size_t job_count;
	const struct format *format;
	const char *output;
	struct hk_thresholds *thresholds;
	size_t rows;
};

static const struct argp_option options[] = {
    {"format", OPTION_FORMAT, "FORMAT", 0, "text (default), json or html", 0},
    {"fail-on", OPTION_FAIL_ON, "LIST", 0,
     "Leave with 1 if something changed by more: 'p99>10%', 'MPI_*:calls!=0, peak>64M, wall>5%'. "
     "Of calls, errors, bytes, total, mean, p50, p90, p99, peak, wall",
     0},
    {"rows", OPTION_ROWS, "N", 0,
     "Most rows of text; 0: all, with those that only wait (default 30)", 0},
    HK_OPTION_OUTPUT,
    {0},
};

static void take_thresholds(struct argp_state *state, const char *list)
{
	struct arguments *arguments = state->input;
	char why[HK_THRESHOLD_WHY_BYTES];

	/* Keeping only the last --fail-on would drop the conditions of the first one. */
	if (arguments->thresholds) {
		argp_error(state, "--fail-on is there twice: put all conditions into one list, "
				  "with commas between");
		return;
	}
	arguments->thresholds = hk_thresholds_new(list, why);
	if (!arguments->thresholds) {
		argp_error(state, "--fail-on: %s", why);
	}
}

static const char *format_word(size_t index)
{
	return index < sizeof(formats) / sizeof(formats[0]) ? formats[index].name : NULL;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case OPTION_FORMAT:
		arguments->format =
		    &formats[hk_option_word(state, "format", format_word, argument)];
		return 0;
	case OPTION_FAIL_ON:
		take_thresholds(state, argument);
		return 0;
	case OPTION_ROWS:
		arguments->rows = hk_option_number(state, "rows", argument, 0);
		return 0;
	case 'o':
		arguments->output = argument;
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->job_count == 2) {
			argp_error(state, "'%s' is one job too many: diff takes two", argument);
		}
		arguments->jobs[arguments->job_count++] = argument;
		return 0;
	case ARGP_KEY_END:
		if (arguments->job_count < 2) {
			argp_error(state, "two jobs are needed, the one before first: hookcli ls "
					  "shows what there is");
		}
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "JOB-BEFORE JOB-AFTER",
    .doc = "Compare two jobs, function by function: calls, total time, median and 99th "
	   "percentile, with how sure each difference is, and the highest memory peaks."
	   "\vLeaves with 0, with 1 if a condition of --fail-on holds, with 2 where there is "
	   "nothing to compare. A condition about times holds only if the difference is that "
	   "large with 95 % confidence; a condition that is undecided for all functions is "
	   "reported, and lets all pass.",
    .children = hk_option_children,
};

static void complain(void *context, const struct hk_exceeded *found)
{
	char sentence[HK_DIFF_SENTENCE_BYTES];
	size_t *printed = context;

	if ((*printed)++ < SENTENCES) {
		hk_error("%s: %s", found->condition, hk_diff_sentence(sentence, found));
	}
}

static void warn(void *context, const struct hk_undecided *found)
{
	(void)context;
	hk_warning("--fail-on '%s': %s", found->condition, found->why);
}

/* Checks the thresholds and reports those that are exceeded. Returns the exit code. */
static int judge(const struct hk_diff *diff)
{
	const char *idle = hk_thresholds_idle(diff->thresholds, &diff->compare);
	size_t printed = 0;

	if (idle) {
		hk_error("--fail-on '%s': neither job calls such a function", idle);
		return EXIT_ERROR;
	}
	size_t count = hk_thresholds_check(diff->thresholds, &diff->compare, complain, &printed);
	if (count > SENTENCES) {
		hk_error("and %zu more", count - SENTENCES);
	}
	hk_thresholds_undecided(diff->thresholds, &diff->compare, warn, NULL);
	return count ? EXIT_EXCEEDED : EXIT_SAME;
}

static int write_diff(const struct arguments *arguments, struct hk_diff *diff)
{
	FILE *output = hk_command_output(arguments->output);

	if (!output) {
		return EXIT_ERROR;
	}
	diff->colour = hk_command_colour(output);
	int r = arguments->format->write(diff, output);
	if (r < 0) {
		hk_command_output_fail(output, "the comparison", r);
		return EXIT_ERROR;
	}
	return hk_command_output_close(output, EXIT_SAME) != EXIT_SAME ? EXIT_ERROR : judge(diff);
}

static int compare(const struct arguments *arguments, const struct hk_job *a,
		   const struct hk_job *b)
{
	struct hk_report *of_a = NULL, *of_b = NULL;
	struct hk_diff diff = {.thresholds = arguments->thresholds, .rows = arguments->rows};
	int code = EXIT_ERROR;
	int r = hk_report_new(a->snapshot, &of_a);

	r = r < 0 ? r : hk_report_new(b->snapshot, &of_b);
	r = r < 0 ? r : hk_compare_init(&diff.compare, of_a, of_b);
	if (r < 0) {
		hk_error("the jobs cannot be compared: %s", strerror(-r));
	} else {
		diff.a = of_a;
		diff.b = of_b;
		code = write_diff(arguments, &diff);
		hk_compare_fini(&diff.compare);
	}
	hk_report_free(of_a);
	hk_report_free(of_b);
	return code;
}

static int compare_jobs(const struct arguments *arguments)
{
	struct hk_job a, b;

	if (hk_job_open(arguments->jobs[0], &a) != HK_EXIT_DONE) {
		return EXIT_ERROR;
	}
	if (hk_job_open(arguments->jobs[1], &b) != HK_EXIT_DONE) {
		hk_job_close(&a);
		return EXIT_ERROR;
	}
	int code = compare(arguments, &a, &b);
	/* Missing data of a damaged job would look like a difference. */
	code = a.damaged || b.damaged ? EXIT_ERROR : code;
	hk_job_close(&a);
	hk_job_close(&b);
	return code;
}

static int run(int argc, char **argv)
{
	struct arguments arguments = {.format = &formats[0], .rows = ROWS};
	int code = EXIT_ERROR;

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) == 0) {
		code = compare_jobs(&arguments);
	}
	hk_thresholds_free(arguments.thresholds);
	return code;
}

static const struct hk_manual_values values[] = {{"format", format_word}, {0}};

static const char examples[] = "hookcli diff base hook-last\tCompare the newest job with job base\n"
			       "hookcli diff base hook-last --fail-on 'MPI_*:time>10%'\tExit with "
			       "1 if MPI calls take 10 % longer";

const struct hk_command hk_command_diff = {
    {"diff", "compare two jobs; --fail-on makes it a gate", &argp,
     "0 no condition of --fail-on holds\n1 one holds\n2 nothing could be compared", values,
     examples},
    run};
