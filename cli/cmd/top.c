/* hookcli top: shows a running job, on a screen or as snapshots one below the other. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/job/job_summary.h"
#include "cli/option.h"
#include "cli/tui/batch.h"
#include "cli/tui/live.h"
#include "cli/tui/terminal.h"
#include "settings/settings.h"

#define OPTION_ONCE 0x100
#define OPTION_JSON 0x101
#define OPTION_ROWS 0x102
#define OPTION_VIEW 0x103
#define OPTION_SORT 0x104
#define OPTION_ALL 0x105

struct arguments {
	const char *job;
	const char *sort;
	const struct hk_view *view;
	bool batch, json, all;
	unsigned long snapshots; /* 0: until the job ends or the user quits */
	double delay_s;
	unsigned long rows;
};

#define VIEW_HELP(name, word) " " #word

static const struct argp_option options[] = {
    {"delay", 'd', "SEC", 0, "Time between two pictures (default 1)", 0},
    {"iterations", 'n', "N", 0, "End after N pictures", 0},
    {"batch", 'b', NULL, 0, "One picture below the other, for pipes and files", 0},
    {"once", OPTION_ONCE, NULL, 0, "One picture, rates since the job's start", 0},
    {"json", OPTION_JSON, NULL, 0, "The report as JSON instead of a picture (once, unless -n)", 0},
    {"rows", OPTION_ROWS, "N", 0, "Most rows of a picture of -b (default 30)", 0},
    {"view", OPTION_VIEW, "NAME", 0, "Begin with view NAME, one of" HK_VIEW_LIST(VIEW_HELP), 0},
    {"all", OPTION_ALL, NULL, 0, "Show idle waits, launchers and helpers too", 0},
    {"sort", OPTION_SORT, "COLUMN", 0, "Sort by the column of that title", 0},
    {0},
};

static void check_sort(const struct arguments *arguments, struct argp_state *state)
{
	const struct hk_view *view = arguments->view;
	char titles[256];
	size_t used = 0;

	if (!arguments->sort || hk_batch_column(view, arguments->sort) < view->column_count) {
		return;
	}
	for (size_t i = 0; i < view->column_count && used < sizeof(titles); i++) {
		used += (size_t)snprintf(titles + used, sizeof(titles) - used, "%s%s",
					 i > 0 ? ", " : "", view->columns[i].title);
	}
	argp_error(state, "--sort '%s' is no column: %s", arguments->sort, titles);
}

static void finish(struct arguments *arguments, struct argp_state *state)
{
	const char *delay = hk_command_setting("delay");
	const char *rows = hk_command_setting("rows");
	char *end;

	arguments->delay_s = strtod(delay, &end);
	if (*end || end == delay || !(arguments->delay_s >= 0.05 && arguments->delay_s <= 3600)) {
		argp_error(state, "delay '%s' is no time from 0.05 to 3600 seconds", delay);
	}
	arguments->rows = rows ? hk_option_number(state, "rows", rows, 1) : HK_BATCH_ROWS;
	if (arguments->json && arguments->snapshots == 0) {
		arguments->snapshots = 1;
	}
	check_sort(arguments, state);
}

static void set_view(struct arguments *arguments, struct argp_state *state, const char *word)
{
	arguments->view = hk_view_find(word);
	if (!arguments->view) {
		argp_error(state, "invalid --view '%s': expected one of" HK_VIEW_LIST(VIEW_HELP),
			   word);
	}
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'd':
		return -hk_settings_set(hk_command_settings(), "delay", argument);
	case OPTION_ROWS:
		return -hk_settings_set(hk_command_settings(), "rows", argument);
	case 'n':
		arguments->snapshots = hk_option_number(state, "iterations", argument, 1);
		return 0;
	case 'b':
		arguments->batch = true;
		return 0;
	case OPTION_ONCE:
		arguments->snapshots = 1;
		arguments->batch = true;
		return 0;
	case OPTION_JSON:
		arguments->json = arguments->batch = true;
		return 0;
	case OPTION_ALL:
		arguments->all = true;
		return 0;
	case OPTION_VIEW:
		set_view(arguments, state, argument);
		return 0;
	case OPTION_SORT:
		arguments->sort = argument;
		return 0;
	case ARGP_KEY_ARG:
		hk_option_only(state, "job", argument, &arguments->job);
		return 0;
	case ARGP_KEY_END:
		finish(arguments, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "[JOB]",
    .doc = "Show what the ranks of JOB call now: on a terminal as a screen, whose keys ? shows, "
	   "elsewhere as text. Rates are those since the last picture, p50 and p99 those since the "
	   "job's start.",
    .children = hk_option_children,
};

/* Replaces the default job by the directory of ./hook-last, so that top stays with that job when a
 * newer one starts. Returns a job's name, or NULL. */
static const char *settle(const char *job)
{
	static char here[PATH_MAX];

	if (!job && !hk_command_setting("collector") && hk_job_summary_is_job(HK_JOB_LAST) &&
	    realpath(HK_JOB_LAST, here)) {
		return here;
	}
	return job;
}

static int run(int argc, char **argv)
{
	struct arguments arguments = {.view = &hk_view_functions};

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) {
		return HK_EXIT_USAGE;
	}
	const char *job = settle(arguments.job);
	if (arguments.batch || !hk_terminal_is_able()) {
		const struct hk_batch batch = {
		    .job = job,
		    .view = arguments.view,
		    .sort = arguments.sort,
		    .json = arguments.json,
		    .all_rows = arguments.all,
		    .snapshots = arguments.snapshots,
		    .rows = arguments.rows,
		    .delay_s = arguments.delay_s,
		};
		return hk_batch_run(&batch);
	}
	const struct hk_live_options live = {
	    .job = job,
	    .view = arguments.view,
	    .sort = arguments.sort ? hk_batch_column(arguments.view, arguments.sort)
				   : arguments.view->column_count,
	    .snapshots = arguments.snapshots,
	    .delay_s = arguments.delay_s,
	    .all_rows = arguments.all,
	};
	return hk_live_run(&live);
}

static const char *view_word(size_t index)
{
	return index < HK_VIEWS ? hk_views[index]->word : NULL;
}

/* Returns column title number INDEX of all views, each title once, or NULL after the last. */
static const char *title_word(size_t index)
{
	for (size_t i = 0; i < HK_VIEWS; i++) {
		for (size_t k = 0; k < hk_views[i]->column_count; k++) {
			const char *title = hk_views[i]->columns[k].title;
			bool seen = false;
			for (size_t j = 0; j < i && !seen; j++) {
				seen =
				    hk_batch_column(hk_views[j], title) < hk_views[j]->column_count;
			}
			if (!seen && index-- == 0) {
				return title;
			}
		}
	}
	return NULL;
}

static const struct hk_manual_values values[] = {{"view", view_word}, {"sort", title_word}, {0}};

static const char examples[] =
    "hookcli top\tWatch the newest job\n"
    "hookcli top --view ranks --sort MPI%\tBegin with the ranks, those with the most MPI first\n"
    "hookcli top --once --all\tPrint one picture, idle waits included";

const struct hk_command hk_command_top = {
    {"top", "watch a job while it runs", &argp, NULL, values, examples}, run};
