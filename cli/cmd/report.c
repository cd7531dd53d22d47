/* hookcli report: shows what every rank of a job called, as a screen, tables, JSON, CSV or a
 * page. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "cli/command.h"
#include "cli/delay/delay_table.h"
#include "cli/delay/history_read.h"
#include "cli/html/html.h"
#include "cli/job/clock_check.h"
#include "cli/job/job_open.h"
#include "cli/option.h"
#include "cli/reasons/reasons.h"
#include "cli/steps/step_table.h"
#include "cli/tables/kernel_table.h"
#include "cli/tables/memory_table.h"
#include "cli/tables/stack_table.h"
#include "cli/tables/stream_table.h"
#include "cli/tables/symbol_table.h"
#include "cli/tables/thread_table.h"
#include "cli/waits/wait_table.h"
#include "report/build/build.h"
#include "report/model/report.h"
#include "report/write/write.h"
#include "settings/settings.h"

#define OPTION_FORMAT 0x100
#define OPTION_BY 0x101
#define OPTION_FUNCTION 0x102
#define OPTION_TRIGGER 0x103

enum format {
	FORMAT_SUMMARY,
	FORMAT_TEXT,
	FORMAT_JSON,
	FORMAT_CSV,
	FORMAT_HTML,
	FORMAT_FOLDED,
};

#define FORMAT_COUNT 6
static const char *const formats[FORMAT_COUNT] = {"summary", "text", "json",
						  "csv",     "html", "folded"};
/* The first five are in the order of enum hk_report_by. */
#define BY_THREAD 5
#define BY_SYMBOL 6
#define BY_MEMORY 7
#define BY_STACK 8
#define BY_STREAM 9
#define BY_KERNEL 10
#define BY_WAIT 11
#define BY_STEP 12
#define BY_DELAY 13
#define BY_PATH 14
#define BY_COUNT 15
static const char *const bys[BY_COUNT] = {"function", "rank",	"library", "host",  "process",
					  "thread",   "symbol", "memory",  "stack", "stream",
					  "kernel",   "wait",	"step",	   "delay", "path"};

struct arguments {
	const char *job, *output, *function;
	uint32_t trigger; /* whose records are shown; 0: the job's */
	enum format format;
	int by;
};

static const struct argp_option options[] = {
    {"format", OPTION_FORMAT, "FORMAT", 0,
     "summary (default), text, json, csv, html or folded, stacks for flame graphs", 0},
    {"by", OPTION_BY, "WHAT", 0,
     "With text: sum by function (default), rank, library, host, process, thread or stream (of a "
     "device). With text, "
     "json or csv: "
     "symbol, calls and cost of each symbol in each library; memory, peaks per library, device and "
     "kind; stack, from where functions were called, native and Python (level "
     "record+stack); kernel, launches, shapes and times of each kernel; wait, how long ranks "
     "waited for each other in MPI, in which pattern; delay, what made the awaited ranks late; "
     "path, "
     "what the critical path went through; step, how long each step took and on which rank, and "
     "where steps get slower",
     0},
    {"function", OPTION_FUNCTION, "GLOB", 0, "With --by stack: only calls of these functions", 0},
    {"trigger", OPTION_TRIGGER, "N", 0, "Show the records that trigger N kept", 0},
    HK_OPTION_OUTPUT,
    {0},
};

static const char *format_word(size_t index)
{
	return index < FORMAT_COUNT ? formats[index] : NULL;
}

static const char *by_word(size_t index)
{
	return index < BY_COUNT ? bys[index] : NULL;
}

/* Sets format and grouping from flags, HOOK_FORMAT and HOOK_BY, and checks both. */
static void choose(struct arguments *arguments, struct argp_state *state)
{
	const char *format = hk_command_setting("format");

	arguments->format =
	    (enum format)hk_option_word(state, "format", format_word, format ? format : "summary");
	arguments->by = (int)hk_option_word(state, "by", by_word, hk_command_setting("by"));
	if (arguments->format == FORMAT_FOLDED) {
		if (arguments->by != (int)HK_REPORT_BY_FUNCTION && arguments->by != BY_STACK) {
			argp_error(state, "--format folded has stacks only: --by stack");
		}
		arguments->by = BY_STACK;
	}
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case OPTION_FORMAT:
		return -hk_settings_set(hk_command_settings(), "format", argument);
	case OPTION_BY:
		/* --by without a format selects the tables. */
		if (!hk_command_setting("format")) {
			hk_settings_set(hk_command_settings(), "format", "text");
		}
		return -hk_settings_set(hk_command_settings(), "by", argument);
	case OPTION_FUNCTION:
		arguments->function = argument;
		return 0;
	case OPTION_TRIGGER:
		arguments->trigger = hk_option_trigger(state, argument);
		return 0;
	case 'o':
		arguments->output = argument;
		return 0;
	case ARGP_KEY_ARG:
		hk_option_only(state, "job", argument, &arguments->job);
		return 0;
	case ARGP_KEY_END:
		choose(arguments, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[JOB]",
    .doc = "Show what every rank of JOB called: how often, how long, from which library.",
    .children = hk_option_children,
};

static int write_symbols(const struct hk_job *job, const struct hk_report *report,
			 enum format format, FILE *output)
{
	struct hk_symbol_table *table;
	int r = hk_symbol_table_new(report, job->snapshot, &table);

	if (r < 0) {
		return r;
	}
	r = format == FORMAT_JSON ? hk_symbol_table_write_json(table, output)
	    : format == FORMAT_CSV
		? hk_symbol_table_write_csv(table, output)
		: hk_symbol_table_write_text(table, output, hk_command_colour(output));
	hk_symbol_table_free(table);
	return r;
}

static int write_memory(const struct hk_report *report, enum format format, FILE *output)
{
	struct hk_memory_table *table;
	int r = hk_memory_table_new(report, &table);

	if (r < 0) {
		return r;
	}
	r = format == FORMAT_JSON ? hk_memory_table_write_json(table, output)
	    : format == FORMAT_CSV
		? hk_memory_table_write_csv(table, output)
		: hk_memory_table_write_text(table, output, hk_command_colour(output));
	hk_memory_table_free(table);
	return r;
}

static int write_stacks(const struct hk_job *job, const struct arguments *arguments, FILE *output)
{
	const struct hk_stack_options wanted = {.function = arguments->function};
	struct hk_stack_rows rows;
	int result = hk_stack_rows_read(job->snapshot, job->directory, &wanted, &rows);

	if (result < 0 && result != -EBADMSG) {
		return result;
	}
	int r = arguments->format == FORMAT_JSON     ? hk_stack_table_write_json(&rows, output)
		: arguments->format == FORMAT_FOLDED ? hk_stack_table_write_folded(&rows, output)
		: arguments->format == FORMAT_CSV
		    ? hk_stack_table_write_csv(&rows, output)
		    : hk_stack_table_write_text(&rows, output, hk_command_colour(output));
	hk_stack_rows_fini(&rows);
	return r < 0 ? r : result;
}

static int write_kernels(const struct hk_job *job, enum format format, FILE *output)
{
	struct hk_kernel_rows rows;
	int result = hk_kernel_rows_read(job->snapshot, job->directory, &rows);

	if (result < 0 && result != -EBADMSG) {
		hk_kernel_rows_fini(&rows);
		return result;
	}
	int r = format == FORMAT_JSON ? hk_kernel_table_write_json(&rows, output)
		: format == FORMAT_CSV
		    ? hk_kernel_table_write_csv(&rows, output)
		    : hk_kernel_table_write_text(&rows, output, hk_command_colour(output));
	hk_kernel_rows_fini(&rows);
	return r < 0 ? r : result;
}

static int write_waits(const struct hk_job *job, enum format format, FILE *output)
{
	struct hk_waits waits;
	int result = hk_waits_read(job->snapshot, job->directory, &waits);

	if (result < 0 && result != -EBADMSG) {
		hk_waits_fini(&waits);
		return result;
	}
	int r = format == FORMAT_JSON ? hk_wait_table_write_json(&waits, output)
		: format == FORMAT_CSV
		    ? hk_wait_table_write_csv(&waits, output)
		    : hk_wait_table_write_text(&waits, output, hk_command_colour(output));
	hk_waits_fini(&waits);
	return r < 0 ? r : result;
}

static int write_steps(const struct hk_job *job, const struct hk_report *report, enum format format,
		       FILE *output)
{
	struct hk_steps steps;
	int result = hk_steps_read(job->snapshot, job->directory, &steps);

	if (result < 0 && result != -EBADMSG) {
		hk_steps_fini(&steps);
		return result;
	}
	int r = format == FORMAT_JSON ? hk_step_table_write_json(&steps, report, output)
		: format == FORMAT_CSV
		    ? hk_step_table_write_csv(&steps, report, output)
		    : hk_step_table_write_text(&steps, report, output, hk_command_colour(output));
	hk_steps_fini(&steps);
	return r < 0 ? r : result;
}

static int write_delays(struct hk_history *history, enum format format, FILE *output)
{
	struct hk_delays delays;
	int r = hk_delays_find(history, &delays);

	if (r == 0) {
		r = format == FORMAT_JSON  ? hk_delay_table_write_json(history, &delays, output)
		    : format == FORMAT_CSV ? hk_delay_table_write_csv(history, &delays, output)
					   : hk_delay_table_write_text(history, &delays, output,
								       hk_command_colour(output));
	}
	hk_delays_fini(&delays);
	return r;
}

static int write_path(const struct hk_history *history, enum format format, FILE *output)
{
	struct hk_path path;
	int r = hk_path_find(history, &path);

	if (r == 0) {
		r = format == FORMAT_JSON  ? hk_path_table_write_json(history, &path, output)
		    : format == FORMAT_CSV ? hk_path_table_write_csv(history, &path, output)
					   : hk_path_table_write_text(history, &path, output,
								      hk_command_colour(output));
	}
	hk_path_fini(&path);
	return r;
}

/* Writes delays or the path. If records are damaged, the tables are empty and say so. */
static int write_history(const struct hk_job *job, const struct arguments *arguments, FILE *output)
{
	struct hk_history history;
	int result = hk_history_read(job->snapshot, job->directory, &history), r = result;

	if (result == 0 || result == -EBADMSG) {
		r = arguments->by == BY_DELAY ? write_delays(&history, arguments->format, output)
					      : write_path(&history, arguments->format, output);
	}
	hk_history_fini(&history);
	return r < 0 ? r : result;
}

/* Writes the table by symbol, memory, stack, kernel, wait, delay, path or step, which have formats
 * of their own. Returns 0, -errno, or 1 if ARGUMENTS select none of them. */
static int write_table(const struct hk_job *job, const struct hk_report *report,
		       const struct arguments *arguments, FILE *output)
{
	bool tabular = arguments->format == FORMAT_TEXT || arguments->format == FORMAT_JSON ||
		       arguments->format == FORMAT_CSV;

	if (tabular && arguments->by == BY_SYMBOL) {
		return write_symbols(job, report, arguments->format, output);
	}
	if (tabular && arguments->by == BY_MEMORY) {
		return write_memory(report, arguments->format, output);
	}
	if ((tabular || arguments->format == FORMAT_FOLDED) && arguments->by == BY_STACK) {
		return write_stacks(job, arguments, output);
	}
	if (tabular && arguments->by == BY_KERNEL) {
		return write_kernels(job, arguments->format, output);
	}
	if (tabular && arguments->by == BY_WAIT) {
		return write_waits(job, arguments->format, output);
	}
	if (tabular && (arguments->by == BY_DELAY || arguments->by == BY_PATH)) {
		return write_history(job, arguments, output);
	}
	if (tabular && arguments->by == BY_STEP) {
		return write_steps(job, report, arguments->format, output);
	}
	return 1;
}

/* Writes JSON, or the summary with STYLE, with what the records say. */
static int write_reasons(const struct hk_job *job, const struct hk_report *report,
			 struct hk_report_style *style, FILE *output)
{
	struct hk_findings findings;
	uint64_t limit = style ? HK_REASONS_SUMMARY_RECORDS : HK_REASONS_RECORDS;
	int r = hk_reasons_init(job->snapshot, job->elsewhere ? NULL : job->directory, report,
				limit, &findings);

	if (r < 0) {
		return r;
	}
	if (style) {
		style->findings = &findings;
		r = hk_report_write_summary(report, output, style);
	} else {
		r = hk_report_write_json(report, &findings, output);
	}
	hk_findings_fini(&findings);
	return r;
}

static int write_rows(const struct hk_job *job, const struct hk_report *report,
		      const struct arguments *arguments, FILE *output)
{
	struct hk_report_style style = {.colour = hk_command_colour(output),
					.files = job->directory};

	switch (arguments->format) {
	case FORMAT_JSON:
		return write_reasons(job, report, NULL, output);
	case FORMAT_CSV:
		return hk_report_write_csv(report, output);
	case FORMAT_HTML:
		return hk_html_write_job(report, job->snapshot, job->directory, HK_OVERVIEW_RECORDS,
					 output);
	case FORMAT_TEXT:
		return arguments->by == BY_THREAD ? hk_thread_table_write(job, output, style.colour)
		       : arguments->by == BY_STREAM
			   ? hk_stream_table_write(job, output, style.colour)
			   : hk_report_write_text(report, output, (enum hk_report_by)arguments->by,
						  &style);
	default:
		return write_reasons(job, report, &style, output);
	}
}

static int write_report(const struct hk_job *job, const struct arguments *arguments, FILE *output)
{
	struct hk_report *report;
	int r = hk_clocks_check(job->snapshot, job->directory, HK_CLOCKS_SCREEN_RECORDS);

	r = r < 0 ? r : hk_report_new(job->snapshot, &report);
	if (r < 0) {
		return r;
	}
	r = write_table(job, report, arguments, output);
	r = r == 1 ? write_rows(job, report, arguments, output) : r;
	hk_report_free(report);
	return r;
}

static int run(int argc, char **argv)
{
	struct arguments arguments = {0};
	struct hk_job job;

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) {
		return HK_EXIT_USAGE;
	}
	int code = hk_job_open_trigger(arguments.job, arguments.trigger, &job);
	if (code != HK_EXIT_DONE) {
		return code;
	}
	FILE *output = hk_command_output(arguments.output);
	code = job.damaged || !output ? HK_EXIT_FAILED : HK_EXIT_DONE;
	if (output) {
		int r = write_report(&job, &arguments, output);
		if (r < 0) {
			hk_command_output_fail(output, "the report", r);
			code = HK_EXIT_FAILED;
		} else {
			code = hk_command_output_close(output, code);
		}
	}
	hk_job_close(&job);
	return code;
}

static const struct hk_manual_values values[] = {{"format", format_word}, {"by", by_word}, {0}};

static const char examples[] =
    "hookcli report slow --trigger 1 --by step\tThe steps around trigger 1 of job slow\n"
    "hookcli report --by rank\tShow a table of ranks\n"
    "hookcli report --by delay\tShow what made the ranks late that others waited for\n"
    "hookcli report --by path --format json\tWrite the critical path as JSON\n"
    "hookcli report base --format json -o base.json\tWrite all numbers of job base as JSON";

const struct hk_command hk_command_report = {
    {"report", "show what every rank of a job called, as summary, text, json, csv or html", &argp,
     NULL, values, examples},
    run};
