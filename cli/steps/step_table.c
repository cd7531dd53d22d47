#include "cli/steps/step_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/steps/changes.h"
#include "cli/steps/moment.h"
#include "cli/steps/shifts.h"
#include "text/csv_text.h"
#include "text/json_stream.h"
#include "text/name.h"
#include "text/quantity.h"
#include "text/table.h"

#define ROWS_MOST 64u /* in text */
#define NAME_COLUMNS 40
#define MARK_BYTES 192u

/* ---- rows ---- */

struct row {
	uint64_t step, steps; /* number of the first step, and how many */
	uint64_t start_ns;    /* since the job's start, of the first rank */
	double duration_ns;   /* of one step: the median over the ranks */
	int32_t slowest;      /* rank with the longest own time */
	double slowest_duration_ns, slowest_own_ns;
	char mark[MARK_BYTES]; /* what changes there, or "" */
};

struct rows {
	const struct hk_steps *steps;
	struct hk_shifts shifts;
	struct row *list;
	size_t count;
};

/* Returns the mean of VALUE of rank number RANK over the bins in [FROM, TO). */
static double mean_of(const struct hk_steps *steps, size_t rank, size_t from, size_t to,
		      double (*value)(const struct hk_steps *steps, size_t rank, size_t index))
{
	double sum = 0;

	for (size_t i = from; i < to; i++) {
		sum += value(steps, rank, i);
	}
	return sum / (double)(to - from);
}

/* Describes the shifts that begin or end in the bins in [FROM, TO). */
static void mark_set(const struct rows *rows, size_t from, size_t to, char mark[MARK_BYTES])
{
	char ranks[HK_SUBJECT_BYTES];

	*mark = '\0';
	for (size_t i = 0; i < rows->shifts.count; i++) {
		const struct hk_shift *shift = &rows->shifts.list[i];
		size_t used = strlen(mark);
		bool begins = shift->at >= from && shift->at < to;
		if (!begins && (shift->to < from || shift->to >= to)) {
			continue;
		}
		hk_moment_subject(ranks, rows->steps, shift);
		if (begins) {
			snprintf(mark + used, MARK_BYTES - used, "%s%s: %.0f %% longer",
				 used > 0 ? "; " : "", ranks,
				 100 * (shift->after_ns / shift->before_ns - 1));
		} else {
			snprintf(mark + used, MARK_BYTES - used, "%s%s: until here",
				 used > 0 ? "; " : "", ranks);
		}
	}
}

/* Sets ROW to the bins in [FROM, TO). SCRATCH has room for a value of each rank. */
static void row_set(const struct rows *rows, size_t from, size_t to, double *scratch,
		    struct row *row)
{
	const struct hk_steps *steps = rows->steps;
	uint64_t begin_ns = steps->ranks[0].series.bins[from].begin_ns;
	size_t slowest = 0;

	row->step = hk_steps_number(steps, from);
	row->steps = (uint64_t)(to - from) * hk_steps_width(steps);
	row->start_ns = begin_ns > steps->origin_ns ? begin_ns - steps->origin_ns : 0;
	for (size_t i = 0; i < steps->rank_count; i++) {
		double own_ns = mean_of(steps, i, from, to, hk_steps_own);
		if (i == 0 || own_ns > row->slowest_own_ns) {
			slowest = i;
			row->slowest_own_ns = own_ns;
		}
		scratch[i] = mean_of(steps, i, from, to, hk_steps_duration);
	}
	row->slowest = steps->ranks[slowest].rank;
	row->slowest_duration_ns = scratch[slowest];
	row->duration_ns = hk_changes_median(scratch, steps->rank_count);
	mark_set(rows, from, to, row->mark);
}

/* Makes rows of WIDTH bins. Returns 0 or -ENOMEM. To be freed with rows_fini in every case. */
static int rows_init(struct rows *rows, const struct hk_steps *steps,
		     const struct hk_report *report, size_t width)
{
	double *scratch = calloc(steps->rank_count + 1, sizeof(*scratch));

	*rows = (struct rows){.steps = steps};
	rows->list = calloc(steps->count / width + 1, sizeof(*rows->list));
	int rc = scratch && rows->list ? hk_shifts_find(steps, report, &rows->shifts) : -ENOMEM;
	for (size_t from = 0; rc == 0 && steps->known && from < steps->count; from += width) {
		size_t to = from + width < steps->count ? from + width : steps->count;
		row_set(rows, from, to, scratch, &rows->list[rows->count++]);
	}
	free(scratch);
	return rc;
}

static void rows_fini(struct rows *rows)
{
	hk_shifts_fini(&rows->shifts);
	free(rows->list);
}

static uint64_t whole(double value)
{
	return value > 0 ? (uint64_t)(value + 0.5) : 0;
}

/* ---- text ---- */

static const char *const kinds[] = {"step", "range", "collective"};

static void notes_write(const struct hk_steps *steps, FILE *output)
{
	const struct hk_marker *marker = &steps->marker;
	char name[HK_NAME_BYTES(NAME_COLUMNS)], bytes[HK_QUANTITY_BYTES];

	if (marker->kind == HK_MARKER_STEP) {
		fputs("steps are those that the program marks\n", output);
	} else if (marker->kind == HK_MARKER_RANGE) {
		fputs("steps are the program's ranges of that name\n", output);
	} else {
		hk_name_print(name, NAME_COLUMNS, marker->name);
		fprintf(output, "a step ends with %s of %s, the most regular collective\n", name,
			marker->any_bytes ? "any size" : hk_quantity_bytes(bytes, marker->bytes));
	}
	if (steps->gap_count > 0 || steps->elsewhere) {
		fputs("! records are missing: steps may be too\n", output);
	}
}

static int table_write(const struct rows *rows, FILE *output, bool colour)
{
	struct hk_table *table =
	    hk_table_new(">step|>steps|>start s|>duration|>slowest rank|>its own|<change");
	char text[HK_QUANTITY_BYTES];

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->list[i];
		hk_table_add(table, "%" PRIu64, row->step);
		hk_table_add(table, "%" PRIu64, row->steps);
		hk_table_add(table, "%.3f", (double)row->start_ns / 1e9);
		hk_table_add(table, "%s", hk_quantity_duration(text, whole(row->duration_ns)));
		hk_table_add(table, "%" PRId32, row->slowest);
		hk_table_add(table, "%s", hk_quantity_duration(text, whole(row->slowest_own_ns)));
		hk_table_add(table, "%s", row->mark);
	}
	int r = hk_table_write(table, output, colour);
	hk_table_free(table);
	return r;
}

int hk_step_table_write_text(const struct hk_steps *steps, const struct hk_report *report,
			     FILE *output, bool colour)
{
	struct rows rows;
	size_t width = steps->count > 0 ? (steps->count + ROWS_MOST - 1) / ROWS_MOST : 1;

	if (steps->damaged) {
		fputs("! records are damaged: their steps cannot be read\n", output);
		return ferror(output) ? -EIO : 0;
	}
	if (!steps->known) {
		fprintf(
		    output,
		    "no steps: the program marks fewer than %u, and no collective of one "
		    "communicator of all ranks repeats as often, as far as calls were recorded\n",
		    HK_STEPS_LEAST);
		return ferror(output) ? -EIO : 0;
	}
	int r = rows_init(&rows, steps, report, width);
	r = r < 0 ? r : table_write(&rows, output, colour);
	rows_fini(&rows);
	fputc('\n', output);
	notes_write(steps, output);
	return r == 0 && ferror(output) ? -EIO : r;
}

/* ---- JSON and CSV ---- */

static void marker_json(const struct hk_steps *steps, struct hk_json *json)
{
	const struct hk_marker *marker = &steps->marker;

	if (steps->known) {
		hk_json_string(json, "kind", kinds[marker->kind]);
	} else {
		hk_json_null(json, "kind");
	}
	if (steps->known && marker->name) {
		hk_json_string(json, "name", marker->name);
	} else {
		hk_json_null(json, "name");
	}
	if (steps->known && marker->kind == HK_MARKER_COLLECTIVE && !marker->any_bytes) {
		hk_json_uint(json, "bytes", marker->bytes);
	} else {
		hk_json_null(json, "bytes");
	}
	hk_json_uint(json, "ranks", steps->rank_count);
	hk_json_bool(json, "records_missing", steps->gap_count > 0 || steps->elsewhere);
	hk_json_bool(json, "damaged", steps->damaged);
}

int hk_step_table_write_json(const struct hk_steps *steps, const struct hk_report *report,
			     FILE *output)
{
	struct hk_json json = {.output = output};
	struct rows rows;
	int r = rows_init(&rows, steps, report, 1);

	hk_json_open(&json, NULL, '{');
	hk_json_open(&json, "steps", '[');
	for (size_t i = 0; r == 0 && i < rows.count; i++) {
		const struct row *row = &rows.list[i];
		hk_json_newline(&json);
		hk_json_open(&json, NULL, '{');
		hk_json_uint(&json, "step", row->step);
		hk_json_uint(&json, "steps", row->steps);
		hk_json_uint(&json, "start_ns", row->start_ns);
		hk_json_uint(&json, "duration_ns", whole(row->duration_ns));
		hk_json_int(&json, "slowest_rank", row->slowest);
		hk_json_uint(&json, "slowest_duration_ns", whole(row->slowest_duration_ns));
		hk_json_uint(&json, "slowest_own_ns", whole(row->slowest_own_ns));
		hk_json_string(&json, "change", row->mark);
		hk_json_close(&json, '}');
	}
	hk_json_close(&json, ']');
	hk_json_newline(&json);
	marker_json(steps, &json);
	hk_json_close(&json, '}');
	fputc('\n', output);
	rows_fini(&rows);
	return r == 0 && ferror(output) ? -EIO : r;
}

int hk_step_table_write_csv(const struct hk_steps *steps, const struct hk_report *report,
			    FILE *output)
{
	struct rows rows;
	int r = rows_init(&rows, steps, report, 1);

	fputs("step,steps,start_ns,duration_ns,slowest_rank,slowest_duration_ns,slowest_own_ns,"
	      "change\n",
	      output);
	for (size_t i = 0; r == 0 && i < rows.count; i++) {
		const struct row *row = &rows.list[i];
		fprintf(output,
			"%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRId32 ",%" PRIu64
			",%" PRIu64 ",",
			row->step, row->steps, row->start_ns, whole(row->duration_ns), row->slowest,
			whole(row->slowest_duration_ns), whole(row->slowest_own_ns));
		hk_csv_text(output, row->mark);
		fputc('\n', output);
	}
	rows_fini(&rows);
	return r == 0 && ferror(output) ? -EIO : r;
}
