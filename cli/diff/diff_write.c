#include "cli/diff/diff_write.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/html/assets.h"
#include "cli/html/page.h"
#include "report/model/domains.h"
#include "text/json_stream.h"
#include "text/name.h"
#include "text/quantity.h"
#include "text/table.h"

#define COMMAND_COLUMNS 60
#define CHANGE_BYTES 32

/* ---- text ---- */

static const char *change_text(char text[CHANGE_BYTES], const struct hk_change *change)
{
	bool exact = change->low == change->high;

	if (isnan(change->ratio)) {
		snprintf(text, CHANGE_BYTES, "-");
	} else if (isinf(change->ratio)) {
		snprintf(text, CHANGE_BYTES, "new");
	} else if (change->ratio == 0) {
		snprintf(text, CHANGE_BYTES, "=");
	} else if (change->ratio >= 9) {
		snprintf(text, CHANGE_BYTES, "x%.1f%s", change->ratio + 1,
			 !exact && hk_change_significant(change) ? "*" : "");
	} else {
		snprintf(text, CHANGE_BYTES, "%+.1f%%%s", 100 * change->ratio,
			 !exact && hk_change_significant(change) ? "*" : "");
	}
	return text;
}

static const char *value_text(char text[HK_QUANTITY_BYTES], double value,
			      const char *(*quantity)(char *, uint64_t))
{
	if (isnan(value)) {
		snprintf(text, HK_QUANTITY_BYTES, "-");
		return text;
	}
	return quantity(text, (uint64_t)value);
}

/* Adds three cells: value before, value after, and their change. */
static void compared_add(struct hk_table *table, const struct hk_compared *compared,
			 const char *(*quantity)(char *, uint64_t))
{
	char text[HK_QUANTITY_BYTES], change[CHANGE_BYTES];

	hk_table_add(table, "%s", value_text(text, compared->a, quantity));
	hk_table_add(table, "%s", value_text(text, compared->b, quantity));
	hk_table_add(table, "%s", change_text(change, &compared->change));
}

static const char *count_text(char *text, uint64_t count)
{
	snprintf(text, HK_QUANTITY_BYTES, "%" PRIu64, count);
	return text;
}

static void row_add(struct hk_table *table, const struct hk_compare_row *row)
{
	hk_table_add(table, "%s", row->function);
	hk_table_add(table, "%s", row->domain);
	hk_table_add(table, "%s", row->role);
	compared_add(table, &row->figure[HK_COMPARE_CALLS], count_text);
	compared_add(table, &row->figure[HK_COMPARE_TOTAL], hk_quantity_duration);
	compared_add(table, &row->figure[HK_COMPARE_P50], hk_quantity_duration);
	compared_add(table, &row->figure[HK_COMPARE_P99], hk_quantity_duration);
}

/* The largest differences are often those of waiting calls, which explain the least. */
static bool stands_aside(const struct hk_compare_row *row)
{
	return hk_domain_is_idle(row->domain) || strcmp(row->role, "main") != 0;
}

static bool all_stand_aside(const struct hk_compare *compare)
{
	for (size_t i = 0; i < compare->row_count; i++) {
		if (!stands_aside(&compare->rows[i])) {
			return false;
		}
	}
	return true;
}

static int rows_write(const struct hk_diff *diff, FILE *output)
{
	const struct hk_compare *compare = &diff->compare;
	bool everything = diff->rows == 0 || all_stand_aside(compare);
	size_t shown = 0, less = 0, aside = 0;
	struct hk_table *table =
	    hk_table_new("<call:40|<domain|<role|>calls A|>B|>change|>total A|>B|>change|>p50 A|>B|"
			 ">change|>p99 A|>B|>change");

	for (size_t i = 0; i < compare->row_count; i++) {
		const struct hk_compare_row *row = &compare->rows[i];
		if (!everything && stands_aside(row)) {
			aside++;
		} else if (diff->rows && shown == diff->rows) {
			less++;
		} else {
			row_add(table, row);
			shown++;
		}
	}
	int r = hk_table_write(table, output, diff->colour);
	hk_table_free(table);
	if (less > 0) {
		fprintf(output, "(%zu more, with less difference: --rows 0 shows them)\n", less);
	}
	if (aside > 0) {
		fprintf(output,
			"(%zu put aside, that wait for events and threads or are of helpers and "
			"launchers: --rows 0)\n",
			aside);
	}
	return r;
}

static int memory_write(const struct hk_diff *diff, FILE *output)
{
	const struct hk_compare *compare = &diff->compare;
	struct hk_table *table = hk_table_new("<memory|>device|<role|>highest peak A|>B|>change");

	for (size_t i = 0; i < compare->memory_count; i++) {
		const struct hk_compare_memory *memory = &compare->memory[i];
		hk_table_add(table, "%s", memory->kind);
		if (memory->device < 0) {
			hk_table_add(table, "host");
		} else {
			hk_table_add(table, "%" PRId32, memory->device);
		}
		hk_table_add(table, "%s", memory->role);
		compared_add(table, &memory->peak, hk_quantity_bytes);
	}
	int r = 0;
	if (compare->memory_count > 0) {
		fputc('\n', output);
		r = hk_table_write(table, output, diff->colour);
	}
	hk_table_free(table);
	return r;
}

static void job_write(const char *side, const struct hk_report *report, FILE *output)
{
	char id[HK_NAME_BYTES(COMMAND_COLUMNS)], command[HK_NAME_BYTES(COMMAND_COLUMNS)];
	char wall[HK_QUANTITY_BYTES];

	hk_name_print(id, COMMAND_COLUMNS, report->job.id);
	hk_name_print(command, COMMAND_COLUMNS, report->job.command);
	fprintf(output, "%s  %s: %s   %zu rank%s, %s%s\n", side, id, command, report->rank_count,
		report->rank_count == 1 ? "" : "s",
		hk_quantity_duration(wall, report->job.duration_ns),
		report->job.closed ? "" : ", still running");
}

static void print_exceeded(void *context, const struct hk_exceeded *found)
{
	char sentence[HK_DIFF_SENTENCE_BYTES];

	fprintf(context, "! %s\n", hk_diff_sentence(sentence, found));
}

static void print_undecided(void *context, const struct hk_undecided *found)
{
	fprintf(context, "? %s: %s\n", found->condition, found->why);
}

int hk_diff_write_text(const struct hk_diff *diff, FILE *output)
{
	char change[CHANGE_BYTES];

	job_write("A", diff->a, output);
	job_write("B", diff->b, output);
	fprintf(output, "wall time %s\n", change_text(change, &diff->compare.wall.change));
	hk_thresholds_check(diff->thresholds, &diff->compare, print_exceeded, output);
	hk_thresholds_undecided(diff->thresholds, &diff->compare, print_undecided, output);
	fputc('\n', output);
	int r = 0;
	if (diff->compare.row_count > 0) {
		r = rows_write(diff, output);
	} else {
		fputs("no calls in either job\n", output);
	}
	r = r < 0 ? r : memory_write(diff, output);
	fputs("\n* more than chance between the calls and ranks of these two runs explains (95 %); "
	      "runs of one program may\n  differ by themselves: compare a job with its repetition "
	      "first.\n",
	      output);
	return r == 0 && ferror(output) ? -EIO : r;
}

const char *hk_diff_sentence(char sentence[HK_DIFF_SENTENCE_BYTES], const struct hk_exceeded *found)
{
	const struct hk_compared *compared = found->compared;
	bool counts = strcmp(found->figure, "calls") == 0 || strcmp(found->figure, "errors") == 0;
	bool bytes = strcmp(found->figure, "bytes") == 0 || strcmp(found->figure, "peak") == 0;
	const char *(*quantity)(char *, uint64_t) = counts  ? count_text
						    : bytes ? hk_quantity_bytes
							    : hk_quantity_duration;
	char before[HK_QUANTITY_BYTES], after[HK_QUANTITY_BYTES];
	char change[CHANGE_BYTES], what[HK_NAME_BYTES(COMMAND_COLUMNS)], least[64] = "";
	double sure = compared->change.ratio > 0 ? compared->change.low : compared->change.high;

	hk_name_print(what, COMMAND_COLUMNS, found->what);
	if (isfinite(sure) && sure != compared->change.ratio) {
		snprintf(least, sizeof(least), ", for sure %+.1f%%", 100 * sure);
	}
	snprintf(sentence, HK_DIFF_SENTENCE_BYTES, "%s%s%s%s: %s, was %s (%s%s)", found->figure,
		 *what ? " of " : "", what, strcmp(found->role, "helper") == 0 ? " in helpers" : "",
		 value_text(after, compared->b, quantity),
		 value_text(before, compared->a, quantity), change_text(change, &compared->change),
		 least);
	return sentence;
}

/* ---- JSON ---- */

static void number(struct hk_json *json, const char *key, double value)
{
	uint64_t bits;

	if (!isfinite(value)) {
		hk_json_null(json, key);
		return;
	}
	memcpy(&bits, &value, sizeof(bits));
	hk_json_double(json, key, bits);
}

static void compared_json(struct hk_json *json, const char *key, const struct hk_compared *compared)
{
	hk_json_open(json, key, '{');
	number(json, "a", compared->a);
	number(json, "b", compared->b);
	number(json, "change", compared->change.ratio);
	number(json, "change_low", compared->change.low);
	number(json, "change_high", compared->change.high);
	hk_json_close(json, '}');
}

static void job_json(struct hk_json *json, const char *key, const struct hk_report *report)
{
	const struct hk_report_job *job = &report->job;

	hk_json_open(json, key, '{');
	hk_json_string(json, "id", job->id);
	hk_json_string(json, "name", job->name);
	hk_json_string(json, "command", job->command);
	hk_json_uint(json, "start_unix_ns", job->start_unix_ns);
	hk_json_uint(json, "duration_ns", job->duration_ns);
	hk_json_int(json, "world_size", job->world_size);
	hk_json_uint(json, "ranks", report->rank_count);
	hk_json_close(json, '}');
	hk_json_newline(json);
}

static const char *figure_key(enum hk_compare_figure figure)
{
	static const char *const keys[HK_COMPARE_FIGURES] = {
	    "calls", "errors", "bytes", "total_ns", "mean_ns", "p50_ns", "p90_ns", "p99_ns",
	};

	return keys[figure];
}

static void row_json(struct hk_json *json, const struct hk_compare_row *row)
{
	hk_json_newline(json);
	hk_json_open(json, NULL, '{');
	hk_json_string(json, "role", row->role);
	hk_json_string(json, "domain", row->domain);
	hk_json_string(json, "function", row->function);
	hk_json_bool(json, "idle", hk_domain_is_idle(row->domain));
	for (enum hk_compare_figure figure = 0; figure < HK_COMPARE_FIGURES; figure++) {
		compared_json(json, figure_key(figure), &row->figure[figure]);
	}
	hk_json_close(json, '}');
}

static void exceeded_json(void *context, const struct hk_exceeded *found)
{
	struct hk_json *json = context;

	hk_json_newline(json);
	hk_json_open(json, NULL, '{');
	hk_json_string(json, "condition", found->condition);
	hk_json_string(json, "figure", found->figure);
	hk_json_string(json, "role", found->role);
	hk_json_string(json, "what", found->what);
	compared_json(json, "compared", found->compared);
	hk_json_close(json, '}');
}

static void undecided_json(void *context, const struct hk_undecided *found)
{
	struct hk_json *json = context;

	hk_json_newline(json);
	hk_json_open(json, NULL, '{');
	hk_json_string(json, "condition", found->condition);
	hk_json_string(json, "why", found->why);
	hk_json_close(json, '}');
}

static void gates_json(const struct hk_diff *diff, struct hk_json *json)
{
	hk_json_newline(json);
	hk_json_open(json, "exceeded", '[');
	hk_thresholds_check(diff->thresholds, &diff->compare, exceeded_json, json);
	hk_json_close(json, ']');
	hk_json_newline(json);
	hk_json_open(json, "undecided", '[');
	hk_thresholds_undecided(diff->thresholds, &diff->compare, undecided_json, json);
	hk_json_close(json, ']');
}

int hk_diff_write_json(const struct hk_diff *diff, FILE *output)
{
	const struct hk_compare *compare = &diff->compare;
	struct hk_json stream = {.output = output}, *json = &stream;

	hk_json_open(json, NULL, '{');
	job_json(json, "a", diff->a);
	job_json(json, "b", diff->b);
	compared_json(json, "wall_ns", &compare->wall);
	hk_json_newline(json);
	hk_json_open(json, "functions", '[');
	for (size_t i = 0; i < compare->row_count; i++) {
		row_json(json, &compare->rows[i]);
	}
	hk_json_close(json, ']');
	hk_json_newline(json);
	hk_json_open(json, "memory", '[');
	for (size_t i = 0; i < compare->memory_count; i++) {
		const struct hk_compare_memory *memory = &compare->memory[i];
		hk_json_newline(json);
		hk_json_open(json, NULL, '{');
		hk_json_string(json, "role", memory->role);
		hk_json_string(json, "kind", memory->kind);
		hk_json_int(json, "device", memory->device);
		compared_json(json, "peak_bytes", &memory->peak);
		hk_json_close(json, '}');
	}
	hk_json_close(json, ']');
	gates_json(diff, json);
	hk_json_close(json, '}');
	fputc('\n', output);
	return ferror(output) ? -EIO : 0;
}

/* ---- HTML ---- */

static int page_data(const void *subject, FILE *output)
{
	return hk_diff_write_json(subject, output);
}

int hk_diff_write_html(const struct hk_diff *diff, FILE *output)
{
	const struct hk_html_page page = {
	    .source = hk_html_compare_page,
	    .source_end = hk_html_compare_page_end,
	    .script = hk_html_compare_script,
	    .script_end = hk_html_compare_script_end,
	    .data = page_data,
	    .subject = diff,
	};

	return hk_html_page_write(&page, output);
}
