/* hookcli compare: compares two dumps of tensors and names the first operator that went wrong. */
#include <argp.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/compare/format.h"
#include "cli/compare/run/compare.h"
#include "cli/compare/write/headline.h"
#include "cli/job/job_open.h"
#include "cli/job/notes.h"
#include "cli/option.h"

#define ROWS 30u
#define PROGRESS_AFTER_NS 1000000000u
#define PROGRESS_EVERY_NS 100000000u

/* Exit codes of compare only, see hookcli(1). */
enum { EXIT_AGREE = 0, EXIT_DIFFER = 1, EXIT_ERROR = 2 };

enum {
	OPTION_FORMAT = 0x100,
	OPTION_MAP,
	OPTION_ROWS,
	OPTION_ALL,
	OPTION_NOTE,
	OPTION_STEPS,
	OPTION_TOLERANCE,
	OPTION_COMPUTED
};

#define FORMAT(name) &hk_comparison_format_##name,
static const struct hk_comparison_format *const formats[] = {HK_COMPARISON_FORMATS(FORMAT)};

static const char *const step_words[] = {"number", "order", NULL};

struct arguments {
	const char *dumps[2];
	size_t dump_count;
	const struct hk_comparison_format *format;
	const char *output, *map, *note;
	struct hk_option_ranks ranks;
	bool steps_in_order, all;
	enum hk_dtype least;
	double factor;
	size_t rows;
};

static const struct argp_option options[] = {
    {"format", OPTION_FORMAT, "FORMAT", 0,
     "text (default), csv with all rows and numbers, json, html; or the columns of msprobe: "
     "msprobe-csv, or of ptdbg_ascend: ptdbg-csv, ptdbg-csv-any-shape",
     0},
    {"map", OPTION_MAP, "FILE", 0,
     "Read from FILE which names, ranks and shards of A and B belong together", 0},
    HK_OPTION_RANKS,
    {"steps", OPTION_STEPS, "HOW", 0,
     "Pair steps by number (default), or by order: the first with the first", 0},
    {"tolerance", OPTION_TOLERANCE, "FACTOR", 0,
     "Allow FACTOR times the difference of the rule that ends the text (default 1)", 0},
    {"computed-in", OPTION_COMPUTED, "DTYPE", 0,
     "Allow for rounding to DTYPE, such as bfloat16, inside of operators that return a wider one",
     0},
    {"rows", OPTION_ROWS, "N", 0, "Most rows of text; 0: all (default 30)", 0},
    {"all", OPTION_ALL, NULL, 0, "Show rows that agree too", 0},
    {"note", OPTION_NOTE, "JOB", 0,
     "Add the first divergence to JOB, in which A was made: as a finding of its report and an "
     "instant of its timeline",
     0},
    HK_OPTION_OUTPUT,
    {0},
};

static const char *format_word(size_t index)
{
	return index < sizeof(formats) / sizeof(formats[0]) ? formats[index]->name : NULL;
}

static const char *step_word(size_t index)
{
	return index < sizeof(step_words) / sizeof(step_words[0]) ? step_words[index] : NULL;
}

static error_t take_dump(struct argp_state *state, const char *path)
{
	struct arguments *arguments = state->input;

	if (arguments->dump_count == 2) {
		argp_error(state, "'%s' is one dump too many: compare takes two", path);
	}
	arguments->dumps[arguments->dump_count++] = path;
	return 0;
}

static double take_factor(struct argp_state *state, const char *text)
{
	char *end;
	double factor = strtod(text, &end);

	if (end == text || *end || !(factor > 0) || factor > 1e6) {
		argp_error(state,
			   "invalid --tolerance '%s': expected a number above 0, at most 1000000",
			   text);
	}
	return factor;
}

static enum hk_dtype take_dtype(struct argp_state *state, const char *text)
{
	enum hk_dtype dtype = hk_dtype_parse(text);

	if (dtype < HK_DTYPE_F16) {
		argp_error(state,
			   "invalid --computed-in '%s': expected a floating-point dtype such as "
			   "bfloat16",
			   text);
	}
	return dtype;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case OPTION_FORMAT:
		arguments->format = formats[hk_option_word(state, "format", format_word, argument)];
		return 0;
	case OPTION_MAP:
		arguments->map = argument;
		return 0;
	case HK_OPTION_KEY_RANKS:
		hk_option_ranks(state, argument, &arguments->ranks);
		return 0;
	case OPTION_STEPS:
		arguments->steps_in_order =
		    hk_option_word(state, "steps", step_word, argument) == 1;
		return 0;
	case OPTION_TOLERANCE:
		arguments->factor = take_factor(state, argument);
		return 0;
	case OPTION_COMPUTED:
		arguments->least = take_dtype(state, argument);
		return 0;
	case OPTION_ROWS:
		arguments->rows = hk_option_number(state, "rows", argument, 0);
		return 0;
	case OPTION_NOTE:
		arguments->note = argument;
		return 0;
	case OPTION_ALL:
		arguments->all = true;
		return 0;
	case 'o':
		arguments->output = argument;
		return 0;
	case ARGP_KEY_ARG:
		return take_dump(state, argument);
	case ARGP_KEY_END:
		if (arguments->dump_count < 2) {
			argp_error(state, "two dumps are needed: the one under test, then the "
					  "reference");
		}
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "DUMP-A DUMP-B",
    .doc =
	"Compare the tensors of two dumps, A under test and B the reference, and name the first "
	"operator whose inputs agree and whose outputs do not."
	"\vA row of a dump is one tensor: an input or output of a call, a parameter, a gradient. "
	"Rows are paired by rank, step, name and place in the sequence of calls. A row that "
	"differs because the values that it was made from differ has the verdict 'follows'."
	"\n\nLines of a --map file: 'torch.nn.functional.* = mindspore.ops.*' for names, 'rank 1 = "
	"rank 4' for ranks, 'layers.*.weight = shard(0) over ranks 0-3' for tensors of which each "
	"rank has a part, 'layers.*.bias = replicated' for tensors that any rank may have.",
    .children = hk_option_children,
};

/* ---- progress and warnings ---- */

struct progress {
	uint64_t started_ns, shown_ns;
	bool wanted;
};

static void show_progress(void *context, uint64_t done, uint64_t total)
{
	struct progress *progress = context;
	uint64_t now_ns = hk_clock_monotonic_ns();

	if (!progress->wanted || now_ns - progress->started_ns < PROGRESS_AFTER_NS ||
	    now_ns - progress->shown_ns < PROGRESS_EVERY_NS) {
		return;
	}
	progress->shown_ns = now_ns;
	fprintf(stderr, "\rcompare %3.0f %% of %llu rows\033[K",
		100.0 * (double)done / (double)(total ? total : 1), (unsigned long long)total);
}

static void end_progress(const struct progress *progress)
{
	if (progress->shown_ns) {
		fprintf(stderr, "\r\033[K");
	}
}

static void warn(void *context, const char *sentence)
{
	(void)context;
	hk_warning("%s", sentence);
}

/* ---- the command ---- */

static int judge(const struct hk_comparison *comparison)
{
	const size_t *levels = comparison->levels;
	size_t agree = levels[HK_MATCH_EQUAL] + levels[HK_MATCH_AGREES], all = 0;

	for (int i = HK_MATCH_EQUAL; i < HK_MATCH_LEVELS; i++) {
		all += levels[i];
	}
	return agree == all ? EXIT_AGREE : EXIT_DIFFER;
}

static int write_comparison(const struct arguments *arguments, struct hk_comparison *comparison)
{
	FILE *output = hk_command_output(arguments->output);

	if (!output) {
		return EXIT_ERROR;
	}
	comparison->rows = arguments->rows;
	comparison->all = arguments->all;
	comparison->colour = hk_command_colour(output);
	int r = arguments->format->write(comparison, output);
	if (r < 0) {
		hk_command_output_fail(output, "the comparison", r);
		return EXIT_ERROR;
	}
	int code = judge(comparison);
	return hk_command_output_close(output, code) == code ? code : EXIT_ERROR;
}

/* ---- the note ---- */

static uint32_t pid_of(const struct hk_values *values)
{
	json_t *about = json_loads(values->about, 0, NULL);
	json_int_t pid = json_integer_value(json_object_get(about, "pid"));

	json_decref(about);
	return pid > 0 && pid <= UINT32_MAX ? (uint32_t)pid : 0;
}

static int note_write(const struct hk_comparison *comparison, const char *directory)
{
	struct hk_values *values = comparison->pairs[comparison->first.pair].a;
	char headline[HK_HEADLINE_BYTES], text[HK_HEADLINE_BYTES + sizeof("first wrong: ")];
	struct hk_dump_row row;
	Hk__Note note;

	hk__note__init(&note);
	values->ops->row(values, comparison->first.match, &row);
	snprintf(text, sizeof(text), "first wrong: %s", hk_headline(headline, comparison));
	note.kind = (char *)(uintptr_t) "divergence";
	note.text = text;
	note.rank = (int32_t)values->rank;
	note.pid = pid_of(values);
	note.tid = (uint32_t)row.thread;
	note.monotonic_ns = row.begin_ns;
	return hk_notes_add(directory, &note);
}

/* Adds the first divergence to the job NAME. Returns CODE, or EXIT_ERROR. */
static int note_add(const struct hk_comparison *comparison, const char *name, int code)
{
	struct hk_job job;

	if (hk_job_open(name, &job) != HK_EXIT_DONE) {
		return EXIT_ERROR;
	}
	int r = job.elsewhere ? -EREMOTE : note_write(comparison, job.directory);
	if (r < 0) {
		hk_error("cannot add a note to %s: %s", job.directory,
			 r == -EREMOTE ? "its files are on another machine (run compare there)"
				       : strerror(-r));
	}
	hk_job_close(&job);
	return r < 0 ? EXIT_ERROR : code;
}

static int compare(const struct arguments *arguments, const struct hk_mapping *mapping)
{
	struct progress progress = {.started_ns = hk_clock_monotonic_ns(),
				    .wanted = isatty(STDERR_FILENO)};
	const struct hk_compare_options compare_options = {
	    .a = arguments->dumps[0],
	    .b = arguments->dumps[1],
	    .mapping = mapping,
	    .ranks = arguments->ranks.spans,
	    .span_count = arguments->ranks.count,
	    .steps_in_order = arguments->steps_in_order,
	    .least = arguments->least,
	    .factor = arguments->factor,
	    .progress = show_progress,
	    .context = &progress,
	    .warn = warn,
	};
	struct hk_comparison comparison;
	char reason[HK_SOURCE_REASON_BYTES];
	int r = hk_compare_dumps(&comparison, &compare_options, reason);

	end_progress(&progress);
	if (r < 0) {
		hk_error("cannot compare the dumps: %s", reason);
		return EXIT_ERROR;
	}
	int code = write_comparison(arguments, &comparison);
	if (arguments->note && code != EXIT_ERROR && comparison.first.kind != HK_FIRST_NONE) {
		code = note_add(&comparison, arguments->note, code);
	}
	hk_comparison_fini(&comparison);
	return code;
}

static int run(int argc, char **argv)
{
	struct arguments arguments = {.format = formats[0], .rows = ROWS, .factor = 1};
	struct hk_mapping mapping = {0};
	char reason[HK_MAPPING_REASON_BYTES];

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) {
		return EXIT_ERROR;
	}
	if (arguments.map && hk_mapping_read(&mapping, arguments.map, reason) < 0) {
		hk_error("cannot read the mapping %s: %s", arguments.map, reason);
		return EXIT_ERROR;
	}
	int code = compare(&arguments, &mapping);
	hk_mapping_fini(&mapping);
	return code;
}

static const struct hk_manual_values values[] = {
    {"format", format_word}, {"steps", step_word}, {0}};

static const char examples[] =
    "hookcli compare npu-dump gpu-dump\tName the first operator that went wrong\n"
    "hookcli compare bf16 fp32 --format html -o precision.html\tWrite a page with the tree of "
    "modules\n"
    "hookcli compare npu-dump gpu-dump --note hook-train-2f8c\tShow it in the job's report and "
    "timeline\n"
    "hookcli compare tp4 single --map shards.txt --rows 0\tPut shards together and show all rows";

const struct hk_command hk_command_compare = {
    {"compare", "compare two dumps of tensors; names the first wrong operator", &argp,
     "0 all rows agree\n1 something differs\n2 nothing could be compared", values, examples},
    run};
