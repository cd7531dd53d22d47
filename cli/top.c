/* hookcli top: a job while it runs, as a table that refreshes. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "command.h"
#include "job.h"
#include "job_snapshot.h"
#include "option.h"
#include "report/group.h"
#include "report/name.h"
#include "report/nodes.h"
#include "report/quantity.h"
#include "report/table.h"
#include "settings/settings.h"

#define OPTION_ONCE 0x100
#define OPTION_JSON 0x101
#define OPTION_ROWS 0x102
#define OPEN_AFTER_NS 5000000000u
#define OPEN_SHOWN 6u
#define ROWS_BATCH 30u
#define ROWS_AROUND 12u /* lines of a screen that are not function rows */

struct arguments {
	const char *job;
	bool batch, json;
	unsigned long pictures; /* 0: until the job ends */
	double delay_s;
	unsigned long rows; /* 0: what fits */
};

static const struct argp_option options[] = {
    {"delay", 'd', "SEC", 0, "Time between two pictures (default 1)", 0},
    {"iterations", 'n', "N", 0, "End after N pictures", 0},
    {"batch", 'b', NULL, 0, "One picture below the other, for pipes and files", 0},
    {"once", OPTION_ONCE, NULL, 0, "One picture, rates since the job's start", 0},
    {"json", OPTION_JSON, NULL, 0, "The report as JSON instead of a picture (once, unless -n)", 0},
    {"rows", OPTION_ROWS, "N", 0, "Most function rows (default: what fits)", 0},
    {0},
};

static unsigned long number(struct argp_state *state, const char *text, const char *what)
{
	char *end;

	errno = 0;
	unsigned long value = strtoul(text, &end, 10);
	if (errno || *end || end == text || *text == '-' || value == 0 || value > 1000000) {
		argp_error(state, "%s '%s' is no number from 1 to 1000000", what, text);
	}
	return value;
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
	if (rows) {
		arguments->rows = number(state, rows, "rows");
	}
	if (arguments->json && arguments->pictures == 0) {
		arguments->pictures = 1;
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
		arguments->pictures = number(state, argument, "-n");
		return 0;
	case 'b':
		arguments->batch = true;
		return 0;
	case OPTION_ONCE:
		arguments->pictures = 1;
		arguments->batch = true;
		return 0;
	case OPTION_JSON:
		arguments->json = true;
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
    .doc = "Show what the ranks of JOB call now. Rates are those since the last picture, p50 and "
	   "p99 those since the job's start.",
    .children = hk_option_children,
};

/* One look at the job; the one before gives the rates. */
struct picture {
	struct hk_job job;
	struct hk_report *report;
	struct hk_groups functions;
	uint64_t duration_ns;
	bool live;
};

static void picture_fini(struct picture *picture)
{
	hk_groups_fini(&picture->functions);
	picture->report = hk_report_free(picture->report);
	hk_job_close(&picture->job);
}

/* Takes the job over. */
static int picture_init(struct picture *picture, struct hk_job *job)
{
	*picture = (struct picture){.live = job->live, .job = *job};
	int r = hk_report_new(job->snapshot, &picture->report);

	if (r < 0) {
		picture_fini(picture);
		return r;
	}
	picture->duration_ns = picture->report->job.duration_ns;
	/* The groups' texts are the snapshot's, which is kept then. */
	r = job->snapshot->folded
		? hk_groups_of_functions(&picture->functions, job->snapshot,
					 picture->report->rank_count)
		: hk_groups_init(&picture->functions, picture->report, HK_GROUP_FUNCTION);
	if (r < 0) {
		picture_fini(picture);
	}
	return r;
}

static const struct hk_group *same(const struct picture *before, const struct hk_group *group)
{
	for (size_t i = 0; before && i < before->functions.count; i++) {
		const struct hk_group *other = &before->functions.groups[i];
		if (strcmp(other->function, group->function) == 0 &&
		    strcmp(other->domain, group->domain) == 0 &&
		    strcmp(other->role, group->role) == 0) {
			return other;
		}
	}
	return NULL;
}

/* A row as it is shown and sorted: per second of the time between two pictures. */
struct shown {
	const struct hk_group *group;
	double calls_per_s, busy;
};

static int by_busy(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	if (x->busy != y->busy) {
		return x->busy > y->busy ? -1 : 1;
	}
	return x->calls_per_s > y->calls_per_s ? -1 : x->calls_per_s < y->calls_per_s;
}

static uint64_t grown(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static struct shown *rows_new(const struct picture *now, const struct picture *before,
			      double *ret_calls_per_s)
{
	struct shown *rows = calloc(now->functions.count + 1, sizeof(*rows));
	double span_s = (double)grown(now->duration_ns, before ? before->duration_ns : 0) / 1e9;
	double ranks = now->report->rank_count ? (double)now->report->rank_count : 1;

	*ret_calls_per_s = 0;
	for (size_t i = 0; rows && i < now->functions.count; i++) {
		const struct hk_group *group = &now->functions.groups[i];
		const struct hk_group *old = same(before, group);
		uint64_t calls = grown(group->numbers.calls, old ? old->numbers.calls : 0);
		uint64_t ns = grown(group->numbers.total_ns, old ? old->numbers.total_ns : 0);
		rows[i].group = group;
		rows[i].calls_per_s = span_s > 0 ? (double)calls / span_s : 0;
		rows[i].busy = span_s > 0 ? 100 * (double)ns / 1e9 / span_s / ranks : 0;
		*ret_calls_per_s += rows[i].calls_per_s;
	}
	if (rows) {
		qsort(rows, now->functions.count, sizeof(*rows), by_busy);
	}
	return rows;
}

static void header_write(const struct picture *now, double calls_per_s, FILE *output)
{
	const struct hk_report *report = now->report;
	char id[HK_NAME_BYTES(40)], rate[HK_QUANTITY_BYTES], up[HK_QUANTITY_BYTES];
	double wall_ns = 0;

	for (size_t i = 0; i < report->rank_count; i++) {
		int64_t wall = report->ranks[i].end_ns - report->ranks[i].start_ns;
		wall_ns += wall > 0 ? (double)wall : 0;
	}
	hk_name_print(id, 40, report->job.id);
	fprintf(output, "hooktrace %s  %zu/%" PRId32 " ranks  up %s  %s\n", id, report->rank_count,
		report->job.world_size, hk_quantity_duration(up, now->duration_ns),
		now->live ? "LIVE" : "ENDED");
	fprintf(output, "cost %.2f %%  calls %s/s  lost %" PRIu64 "%s",
		wall_ns > 0 ? 100 * (double)report->job.tracing_cost_ns / wall_ns : 0,
		hk_quantity_count(rate, calls_per_s), report->job.lost_records,
		report->job.calls_untracked > 0 ? "  UNCOUNTED CALLS: see hookcli report" : "");
	hk_report_nodes_clocks(report, "  ", output);
	fputc('\n', output);
	hk_report_nodes_warn(report, output);
	fputc('\n', output);
}

/* Whether the governor has lowered FUNCTION's level somewhere. */
static bool is_lowered(const struct hk_report *report, const char *function)
{
	size_t length = strlen(function);

	for (size_t i = 0; i < report->step_count; i++) {
		const struct hk_report_step *step = &report->steps[i];
		size_t whole = strlen(step->pattern);
		if (!step->pinned && whole > length && step->pattern[whole - length - 1] == ':' &&
		    strcmp(step->pattern + whole - length, function) == 0) {
			return true;
		}
	}
	return false;
}

static int functions_write(const struct hk_report *report, const struct shown *rows, size_t count,
			   size_t limit, bool colour, FILE *output)
{
	bool lowered = false;
	struct hk_table *table =
	    hk_table_new("<FUNCTION:36|<DOM|>CALLS/s|>BUSY%|>p50|>p99|>IMB|>ERR|<ROLE");

	for (size_t i = 0; i < count && i < limit; i++) {
		const struct hk_report_numbers *n = &rows[i].group->numbers;
		bool main_role = strcmp(rows[i].group->role, "main") == 0;
		char text[HK_QUANTITY_BYTES];
		bool mark = is_lowered(report, rows[i].group->function);
		lowered |= mark;
		hk_table_add(table, mark ? "%s *" : "%s", rows[i].group->function);
		hk_table_add(table, "%s", rows[i].group->domain);
		hk_table_add(table, "%s", hk_quantity_count(text, rows[i].calls_per_s));
		hk_table_add(table, n->have_total ? "%.1f" : "-", rows[i].busy);
		hk_table_add(table, "%s",
			     n->have_latency ? hk_quantity_duration(text, n->p50_ns) : "-");
		hk_table_add(table, "%s",
			     n->have_latency ? hk_quantity_duration(text, n->p99_ns) : "-");
		hk_table_add(table, rows[i].group->imbalance > 0 ? "%.2f" : "-",
			     rows[i].group->imbalance);
		hk_table_add(table, "%" PRIu64, n->errors);
		hk_table_add(table, "%s", main_role ? "" : rows[i].group->role);
	}
	int r = hk_table_write(table, output, colour);
	hk_table_free(table);
	if (count == 0) {
		fputs("no call seen yet\n", output);
	} else if (count > limit) {
		fprintf(output, "(%zu more)\n", count - limit);
	}
	if (lowered) {
		fputs("* level lowered by the governor: hookcli report\n", output);
	}
	return r;
}

static void open_calls_write(const struct hk_report *report, FILE *output)
{
	size_t shown = 0;

	for (size_t i = 0; i < report->open_call_count && shown < OPEN_SHOWN; i++) {
		const struct hk_report_open_call *open = &report->open_calls[i];
		char function[HK_NAME_BYTES(40)], library[HK_NAME_BYTES(40)];
		char thread[HK_NAME_BYTES(16)], age[HK_QUANTITY_BYTES];
		if (open->open_ns < OPEN_AFTER_NS) {
			continue;
		}
		hk_name_print(function, 40, open->function);
		hk_name_print(library, 40, hk_name_base(open->library));
		hk_name_print(thread, 16, open->thread_name);
		fprintf(output, "%s  rank %" PRId32 " %s %s <- %s  %s\n",
			shown++ == 0 ? "\nOPEN > 5s" : "         ", open->rank,
			*thread ? thread : open->role, function, library,
			hk_quantity_duration(age, open->open_ns));
	}
}

static void memory_write(const struct hk_report *report, FILE *output)
{
	const struct hk_report_memory *most = NULL;
	char live[HK_QUANTITY_BYTES], peak[HK_QUANTITY_BYTES];

	for (size_t i = 0; i < report->memory_count; i++) {
		const struct hk_report_memory *memory = &report->memory[i];
		if (memory->device < 0 && strcmp(memory->library, "*") == 0 &&
		    strcmp(memory->kind, "heap") == 0 && strcmp(memory->role, "main") == 0 &&
		    (!most || memory->live_bytes > most->live_bytes)) {
			most = memory;
		}
	}
	if (most) {
		fprintf(output, "\nMEM  host heap max %s (peak %s) rank %" PRId32 "\n",
			hk_quantity_bytes(live, most->live_bytes),
			hk_quantity_bytes(peak, most->peak_bytes), most->rank);
	}
}

static size_t row_limit(const struct arguments *arguments, FILE *output)
{
	struct winsize size;

	if (arguments->rows > 0) {
		return arguments->rows;
	}
	if (!arguments->batch && ioctl(fileno(output), TIOCGWINSZ, &size) == 0 &&
	    size.ws_row > ROWS_AROUND + 4) {
		return size.ws_row - ROWS_AROUND;
	}
	return ROWS_BATCH;
}

/* Columns of the terminal; 0: no end to a line. */
static size_t columns_of(const struct arguments *arguments, FILE *output)
{
	struct winsize size;

	return !arguments->batch && ioctl(fileno(output), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* Writes TEXT, its lines cut: one that wraps would push the head off the screen. Escape sequences,
 * which end in a letter, take no column; UTF-8 characters take one. */
static void write_cut(const char *text, size_t columns, FILE *output)
{
	size_t column = 0;
	bool escape = false;

	for (; *text; text++) {
		bool begins = ((unsigned char)*text & 0xc0) != 0x80;
		escape |= *text == '\033';
		if (*text == '\n') {
			column = 0;
		} else if (!escape && begins) {
			column++;
		}
		if (escape || columns == 0 || column <= columns) {
			putc(*text, output);
		}
		escape = escape && !isalpha((unsigned char)*text);
	}
}

static int table_write(const struct arguments *arguments, const struct picture *now,
		       const struct picture *before, FILE *output)
{
	double calls_per_s;

	struct shown *rows = rows_new(now, before, &calls_per_s);
	if (!rows) {
		return -ENOMEM;
	}
	header_write(now, calls_per_s, output);
	int r = functions_write(now->report, rows, now->functions.count,
				row_limit(arguments, stdout), hk_command_colour(stdout), output);
	open_calls_write(now->report, output);
	memory_write(now->report, output);
	fputs(arguments->batch && arguments->pictures != 1 ? "\n" : "", output);
	free(rows);
	return r;
}

static int picture_write(const struct arguments *arguments, const struct picture *now,
			 const struct picture *before)
{
	char *text = NULL;
	size_t size;

	if (arguments->json) {
		return hk_report_write_json(now->report, stdout);
	}
	FILE *output = open_memstream(&text, &size);
	if (!output) {
		return -errno;
	}
	int r = table_write(arguments, now, before, output);
	fclose(output);
	if (r == 0) {
		fputs(arguments->batch ? "" : "\033[H\033[2J", stdout);
		write_cut(text, columns_of(arguments, stdout), stdout);
	}
	free(text);
	return r;
}

/* Looks again and again; the previous picture is kept for the rates. */
static int watch(const struct arguments *arguments)
{
	struct picture before = {0};
	int code = HK_EXIT_DONE;

	hk_job_snapshot_fold(!arguments->json);

	for (unsigned long i = 1;; i++) {
		struct picture now;
		struct hk_job job;
		code = hk_job_open(arguments->job, &job);
		if (code != HK_EXIT_DONE) {
			break;
		}
		int r = picture_init(&now, &job);
		code = job.damaged ? HK_EXIT_FAILED : HK_EXIT_DONE;
		if (r == 0) {
			/* A job that ended has no "now": its rates are those of its whole life. */
			r = picture_write(arguments, &now,
					  before.report && now.live ? &before : NULL);
			picture_fini(&before);
			before = now;
		}
		if (r < 0 || fflush(stdout) != 0) {
			hk_error("cannot show the job: %s", strerror(r < 0 ? -r : errno));
			code = HK_EXIT_FAILED;
			break;
		}
		if (i == arguments->pictures || !before.live) {
			break;
		}
		poll(NULL, 0, (int)(arguments->delay_s * 1000));
	}
	picture_fini(&before);
	return code;
}

static int run(int argc, char **argv)
{
	struct arguments arguments = {0};

	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) {
		return HK_EXIT_USAGE;
	}
	arguments.batch |= !isatty(STDOUT_FILENO);
	return watch(&arguments);
}

const struct hk_command hk_command_top = {{"top", "watch a job while it runs", &argp, NULL}, run};
