/* hookcli export: writes the recorded calls of a job as a timeline that other tools open. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/export/exporter.h"
#include "cli/job/clock_check.h"
#include "cli/job/job_open.h"
#include "cli/job/job_selection.h"
#include "cli/option.h"
#include "cli/tables/stack_rows.h"
#include "cli/timeline/rank_files.h"
#include "cli/timeline/timeline.h"
#include "text/quantity.h"
#include "timeline/source.h"

#define OUTPUT_BUFFER_BYTES (1u << 20)
#define PROGRESS_AFTER_NS 1000000000u
#define PROGRESS_CELLS 30u
#define PROGRESS_EVERY_NS 100000000u

struct arguments {
	const char *job, *output;
	const struct hk_exporter_ops *ops;
	struct hk_timeline_options options;
	struct hk_option_ranks ranks;
	enum hk_folded_weight weight;
	enum hk_folded_split split;
	bool gzip, exact;
};

enum {
	OPTION_FORMAT = 256,
	OPTION_FROM,
	OPTION_TO,
	OPTION_WEIGHT,
	OPTION_SPLIT,
	OPTION_GZIP,
	OPTION_EXACT
};

#define FORMAT_HELP(name) " " #name

static const struct argp_option options[] = {
    {"format", OPTION_FORMAT, "FORMAT", 0,
     "Write FORMAT, one of" HK_EXPORTERS(FORMAT_HELP) " (default perfetto)", 0},
    HK_OPTION_OUTPUT,
    {"from", OPTION_FROM, "TIME", 0,
     "Leave out calls that ended before TIME. Times count from the job's start, in seconds or with "
     "a unit: 90, 1.5s, 200ms, 2m",
     0},
    {"to", OPTION_TO, "TIME", 0, "Leave out calls that began after TIME", 0},
    HK_OPTION_RANKS,
    {"weight", OPTION_WEIGHT, "WHAT", 0,
     "With folded: sum time (ns in the innermost call, default) or calls", 0},
    {"split", OPTION_SPLIT, "WHAT", 0,
     "With folded and pprof: stacks of each rank or thread apart; pprof always has the rank", 0},
    {"gzip", OPTION_GZIP, NULL, 0, "With kineto: rank<N>.json.gz", 0},
    {"exact", OPTION_EXACT, NULL, 0,
     "With kineto: times to the ns instead of whole us; for HTA set HTA_DISABLE_NS_ROUNDING=1 "
     "then, or short calls get less than no time",
     0},
    {0},
};

static const char *weight_word(size_t index)
{
	static const char *const words[] = {"time", "calls"}; /* enum hk_folded_weight */

	return index < 2 ? words[index] : NULL;
}

static const char *split_word(size_t index)
{
	static const char *const words[] = {"rank", "thread"}; /* enum hk_folded_split, from 1 */

	return index < 2 ? words[index] : NULL;
}

static const char *format_word(size_t index)
{
	const struct hk_exporter_ops *ops = hk_exporter_at(index);

	return ops ? ops->format : NULL;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case OPTION_FORMAT:
		arguments->ops =
		    hk_exporter_at(hk_option_word(state, "format", format_word, argument));
		return 0;
	case 'o':
		arguments->output = strcmp(argument, "-") == 0 ? NULL : argument;
		return 0;
	case OPTION_FROM:
		arguments->options.from_ns = hk_option_time(state, "from", argument);
		return 0;
	case OPTION_TO:
		arguments->options.to_ns = hk_option_time(state, "to", argument);
		return 0;
	case OPTION_WEIGHT:
		arguments->weight =
		    (enum hk_folded_weight)hk_option_word(state, "weight", weight_word, argument);
		return 0;
	case OPTION_SPLIT:
		arguments->split =
		    1 + (enum hk_folded_split)hk_option_word(state, "split", split_word, argument);
		return 0;
	case OPTION_GZIP:
		arguments->gzip = true;
		return 0;
	case OPTION_EXACT:
		arguments->exact = true;
		return 0;
	case HK_OPTION_KEY_RANKS:
		hk_option_ranks(state, argument, &arguments->ranks);
		arguments->options.ranks = arguments->ranks.spans;
		arguments->options.rank_count = arguments->ranks.count;
		return 0;
	case ARGP_KEY_ARG:
		hk_option_only(state, "job", argument, &arguments->job);
		return 0;
	case ARGP_KEY_END:
		if (arguments->options.from_ns > arguments->options.to_ns) {
			argp_error(state, "--from is later than --to: nothing lies between");
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
    .doc = "Write the recorded calls of JOB: perfetto for ui.perfetto.dev, chrome for "
	   "chrome://tracing and other readers of trace event JSON, kineto for Holistic Trace "
	   "Analysis (-o names a directory: a file per rank), csv for spreadsheets, sqlite for "
	   "questions in SQL, with all that the report knows, folded for flame graphs, pprof for "
	   "pprof and its viewers.",
    .children = hk_option_children,
};

/* ---- progress ---- */

struct progress {
	uint64_t started_ns, shown_ns;
	bool wanted;
};

static void show_progress(void *context, uint64_t done, uint64_t total)
{
	struct progress *progress = context;
	uint64_t now_ns = hk_clock_monotonic_ns(), spent_ns = now_ns - progress->started_ns;
	char left[HK_QUANTITY_BYTES];
	unsigned int cells;

	if (!progress->wanted || total == 0 || done == 0 || spent_ns < PROGRESS_AFTER_NS ||
	    now_ns - progress->shown_ns < PROGRESS_EVERY_NS) {
		return;
	}
	done = done > total ? total : done;
	cells = (unsigned int)((double)done / (double)total * PROGRESS_CELLS);
	progress->shown_ns = now_ns;
	fprintf(stderr, "\rexport [");
	for (unsigned int i = 0; i < PROGRESS_CELLS; i++) {
		putc(i < cells ? '#' : ' ', stderr);
	}
	hk_quantity_duration(left,
			     (uint64_t)((double)spent_ns * (double)(total - done) / (double)done));
	/* The escape sequence erases the rest of a longer previous line. */
	fprintf(stderr, "] %3.0f %%  %s left \033[K", 100.0 * (double)done / (double)total, left);
}

static void end_progress(const struct progress *progress)
{
	if (progress->shown_ns) {
		fprintf(stderr, "\r\033[K");
	}
}

/* ---- the command ---- */

static void tell_clocks(const Hk__Job *job)
{
	if (job->sync_violations) {
		hk_warning("%" PRIu64 " of %" PRIu64 " collective calls ended on one node before "
			   "another had begun: clocks are further apart than the report says",
			   job->sync_violations, job->sync_checks);
	} else if (job->sync_checks) {
		hk_info("%" PRIu64 " collective calls agree with the clocks", job->sync_checks);
	}
}

/* Warns of calls without arrows and gives the reasons. */
static void tell_flows(const struct hk_export_flows *flows)
{
	uint64_t without = flows->receives - flows->messages;

	if (without) {
		hk_warning(
		    "no arrow ends at %" PRIu64 " of %" PRIu64 " receives: %" PRIu64
		    " were from any rank without a status, %" PRIu64
		    " came before their send by the clocks, of others an end is not recorded or "
		    "not in it",
		    without, flows->receives, flows->any, flows->early);
	}
	if (flows->apart) {
		hk_warning("no arrows at %" PRIu64 " calls of ranks some of whose records are "
			   "missing",
			   flows->apart);
	}
}

static int report_result(const struct hk_timeline_result *result, const struct hk_job *job,
			 const struct hk_timeline_options *part, const char *path)
{
	bool damaged = job->damaged || result->damaged || result->too_deep || result->newer;

	if (result->lost) {
		hk_warning("%" PRIu64 " records were lost while the job ran and are not in it; the "
			   "report counts them",
			   result->lost);
	}
	if (result->shed) {
		hk_warning("%" PRIu64 " records are older than what --keep left and are not in it",
			   result->shed);
	}
	if (result->elsewhere) {
		hk_warning("%" PRIu64 " records are on the root and not in it", result->elsewhere);
	}
	if (result->newer) {
		hk_warning("%zu files were written by a newer hooktrace and were left out",
			   result->newer);
	}
	if (result->damaged) {
		hk_warning("%" PRIu64 " damaged parts of the job's files were left out",
			   result->damaged);
	}
	if (result->too_deep) {
		hk_warning("%" PRIu64 " calls were left out: nested too deeply", result->too_deep);
	}
	tell_clocks(job->snapshot->job);
	tell_flows(&result->flows);
	if (result->processes == result->unrecorded) {
		hk_warning("no records: run with --level '*=record' to have a timeline");
	} else if (result->calls == 0 && (part->from_ns > INT64_MIN || part->to_ns < INT64_MAX)) {
		hk_warning("no call lies between --from and --to");
	}
	if (job->live) {
		hk_warning("the job is still running: exported what is stored so far");
	}
	if (path) {
		hk_info("%" PRIu64 " calls of %zu processes in %s", result->calls,
			result->processes - result->unrecorded, path);
	}
	return damaged ? HK_EXIT_FAILED : HK_EXIT_DONE;
}

/* Warns of ranks and processes without a file in the directory, and of missing device times. */
static void report_files(const struct hk_rank_files_result *result, const char *format)
{
	if (result->empty) {
		hk_warning("%zu ranks have no file: no call of them is in it", result->empty);
	}
	if (result->strange) {
		hk_warning("%zu helper or launcher processes are not in it, as %s has a file per "
			   "rank: see --format perfetto or chrome",
			   result->strange, format);
	}
	if (result->files && !result->sum.activities) {
		hk_warning("HTA's views of GPUs stay empty: they need device times, which the "
			   "program must report (see hk_activity in hooktrace.h)");
	}
}

/* Prints why a FORMAT that creates its own file cannot create it at PATH. */
static void tell_place(const char *path, const char *format)
{
	struct stat status;
	const char *why = stat(path, &status) < 0   ? "a link to nothing, or its name is too long"
			  : S_ISREG(status.st_mode) ? "somebody else's"
						    : "no file";

	hk_error("cannot write %s: it is %s, and %s makes a file of its own: name a new one with "
		 "-o",
		 path, why, format);
}

static int stopped(int rc, const struct hk_exporter_ops *ops, const char *path)
{
	if (ops->rank_file_begin && rc == -ENOTEMPTY) {
		hk_error("%s holds other things than an earlier export of ours: give -o a new or "
			 "an empty directory",
			 path);
	} else if (ops->rank_file_begin && rc == -ENOTDIR) {
		hk_error("%s is no directory, and %s has a file per rank: give -o a new one", path,
			 ops->format);
	} else if (ops->makes_files && rc == -ENOTSUP) {
		tell_place(path, ops->format);
	} else {
		hk_error("export stopped: %s", strerror(-rc));
	}
	return HK_EXIT_FAILED;
}

static int export_job(const struct hk_job *job, const struct hk_exporter_ops *ops,
		      struct arguments *arguments)
{
	struct progress progress = {
	    .started_ns = hk_clock_monotonic_ns(),
	    .wanted = isatty(STDERR_FILENO) && (arguments->output || !isatty(STDOUT_FILENO)),
	};
	struct hk_export_target target = {
	    .path = arguments->output,
	    .folded_weight = arguments->weight,
	    .folded_split = arguments->split,
	    .whole_us = !arguments->exact,
	};
	struct hk_rank_files_result files = {0};
	struct hk_timeline_result *result = &files.sum;
	int rc;

	if (!ops->makes_files) {
		target.output = hk_command_output(arguments->output);
		if (!target.output) {
			return HK_EXIT_FAILED;
		}
		setvbuf(target.output, NULL, _IOFBF, OUTPUT_BUFFER_BYTES);
	}
	hk_source_raise_file_limit();
	arguments->options.progress = show_progress;
	arguments->options.context = &progress;
	rc = hk_clocks_check(job->snapshot, job->directory, UINT64_MAX);
	if (rc == 0 && ops->rank_file_begin) {
		rc = hk_rank_files_export(job->snapshot, job->directory, ops, &target,
					  arguments->gzip, &arguments->options, &files);
	} else if (rc == 0) {
		rc = hk_timeline_export(job->snapshot, job->directory, ops, &target,
					&arguments->options, result);
	}
	end_progress(&progress);
	if (rc < 0) {
		if (target.output) {
			hk_command_output_discard(target.output);
		}
		return stopped(rc, ops, target.path);
	}
	rc = report_result(result, job, &arguments->options, target.path);
	if (ops->rank_file_begin) {
		report_files(&files, ops->format);
	}
	return target.output ? hk_command_output_close(target.output, rc) : rc;
}

/* Returns the exporter that the setting names, else perfetto. `report` shares the setting, and
 * names of its formats are ignored here. */
static const struct hk_exporter_ops *default_format(void)
{
	const char *set = hk_command_setting("format");
	const struct hk_exporter_ops *ops = set ? hk_exporter_find(set) : NULL;

	return ops ? ops : &hk_perfetto_exporter;
}

static int run(int argc, char **argv)
{
	struct arguments arguments = {
	    .ops = default_format(),
	    .options = {.from_ns = INT64_MIN,
			.to_ns = INT64_MAX,
			.functions = hk_stack_rows_functions},
	};
	const struct hk_exporter_ops *ops;
	struct hk_job job;
	int rc;

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments)) {
		return HK_EXIT_USAGE;
	}
	ops = arguments.ops;
	if (!arguments.output && ops->rank_file_begin) {
		hk_error("%s has a file per rank: name a directory for them with -o DIR",
			 ops->format);
		return HK_EXIT_USAGE;
	}
	if (!arguments.output && ops->makes_files) {
		hk_error("%s needs a name for what it writes: -o trace.%s", ops->format,
			 ops->suffix);
		return HK_EXIT_USAGE;
	}
	if (!arguments.output && ops->binary && isatty(STDOUT_FILENO)) {
		hk_error("%s is binary: write it to a file with -o trace.%s", ops->format,
			 ops->suffix);
		return HK_EXIT_USAGE;
	}
	rc = hk_job_open(arguments.job, &job);
	if (rc != HK_EXIT_DONE) {
		return rc;
	}
	rc = hk_job_selection_check(&job, &arguments.options);
	rc = rc == HK_EXIT_DONE ? export_job(&job, ops, &arguments) : rc;
	hk_job_close(&job);
	return rc;
}

static const struct hk_manual_values values[] = {
    {"format", format_word}, {"weight", weight_word}, {"split", split_word}, {0}};

static const char examples[] =
    "hookcli export --format perfetto -o trace.gz\tWrite a trace for ui.perfetto.dev\n"
    "hookcli export --format csv --from 1s --to 2s --ranks 0,4-7\tPrint the calls of some ranks in "
    "one second";

const struct hk_command hk_command_export = {
    {"export", "write its calls for Perfetto, Chrome, HTA, flame graphs, pprof, csv or sqlite",
     &argp, NULL, values, examples},
    run};
