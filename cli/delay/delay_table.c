#include "cli/delay/delay_table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "cli/delay/history_notes.h"
#include "cli/delay/stack_line.h"
#include "cli/tables/frame_json.h"
#include "cli/tables/stack_table.h"
#include "text/csv_text.h"
#include "text/name.h"
#include "text/quantity.h"
#include "text/table.h"

#define ROWS_SHOWN 20u /* in text */
#define STACKS_SHOWN 5u
#define TEXT_COLUMNS 72
#define WHOLE 100.0

static double percent(double part, double whole)
{
	return whole > 0 ? WHOLE * part / whole : 0;
}

static int32_t rank_of(const struct hk_history *history, const struct hk_work_row *row)
{
	return history->lanes[row->lane].rank;
}

static uint64_t whole_ns(double ns)
{
	return (uint64_t)llround(ns > 0 ? ns : 0);
}

/* ---- text ---- */

/* Writes the stacks of the first rows that have one. */
static void stacks_write(const struct hk_history *history, const struct hk_work_rows *rows,
			 FILE *output)
{
	char text[HK_WORK_TEXT_BYTES], line[HK_STACK_LINE_BYTES];
	size_t written = 0;

	for (size_t i = 0; i < rows->count && i < ROWS_SHOWN && written < STACKS_SHOWN; i++) {
		const struct hk_work_row *row = &rows->list[i];
		const struct hk_activity *activity = hk_work_stack(history, row->key);
		if (!activity || !hk_stack_line(activity->process, activity->stack, line)) {
			continue;
		}
		fprintf(output, "%srank %" PRId32 ", %s%s:\n  %s\n", written == 0 ? "\n" : "",
			rank_of(history, row), hk_work_text(history, row->key, text),
			hk_work_is_call(row->key) ? "" : ", which ends in a call", line);
		written++;
	}
}

static void more_write(const struct hk_work_rows *rows, FILE *output)
{
	char time[HK_QUANTITY_BYTES];

	if (rows->count > ROWS_SHOWN) {
		double rest_ns = rows->other_ns;
		for (size_t i = ROWS_SHOWN; i < rows->count; i++) {
			rest_ns += rows->list[i].ns;
		}
		fprintf(output, "(%zu more: %s)\n", rows->count - ROWS_SHOWN,
			hk_quantity_time(time, rest_ns));
	}
}

static int delay_rows_write(const struct hk_history *history, const struct hk_delays *delays,
			    FILE *output, bool colour)
{
	struct hk_table *table =
	    hk_table_new(">rank|<what made it late:72|>cost s|>of waits %|>passed on s|>waits");
	char text[HK_WORK_TEXT_BYTES], name[HK_NAME_BYTES(TEXT_COLUMNS)];
	char seconds[HK_QUANTITY_BYTES];

	for (size_t i = 0; i < delays->rows.count && i < ROWS_SHOWN; i++) {
		const struct hk_work_row *row = &delays->rows.list[i];
		hk_name_print(name, TEXT_COLUMNS, hk_work_text(history, row->key, text));
		hk_table_add(table, "%" PRId32, rank_of(history, row));
		hk_table_add(table, "%s", name);
		hk_table_add(table, "%s", hk_quantity_seconds(seconds, row->ns));
		hk_table_add(table, "%.1f", percent(row->ns, delays->wait_ns));
		hk_table_add(table, "%s", hk_quantity_seconds(seconds, row->passed_ns));
		hk_table_add(table, "%" PRIu64, row->times);
	}
	int r = hk_table_write(table, output, colour);
	hk_table_free(table);
	return r;
}

static void notes_write(const struct hk_history *history, FILE *output)
{
	struct hk_history_notes notes;

	hk_history_notes_make(history, &notes);
	hk_history_notes_write_text(&notes, output);
}

int hk_delay_table_write_text(const struct hk_history *history, const struct hk_delays *delays,
			      FILE *output, bool colour)
{
	char time[HK_QUANTITY_BYTES];
	int r = 0;

	notes_write(history, output);
	if (delays->waits == 0) {
		fputs(history->elsewhere > 0
			  ? "no wait could be charged: hookcli report --by wait has them\n"
			  : "no rank waited for another one, as far as calls were recorded\n",
		      output);
		return ferror(output) ? -EIO : 0;
	}
	r = delay_rows_write(history, delays, output, colour);
	more_write(&delays->rows, output);
	stacks_write(history, &delays->rows, output);
	fprintf(output, "\n%" PRIu64 " waits took %s\n", delays->waits,
		hk_quantity_time(time, delays->wait_ns));
	if (delays->uncharged_ns > 0) {
		fprintf(output,
			"%s of it is charged to nothing: the awaited rank did nothing longer\n",
			hk_quantity_time(time, delays->uncharged_ns));
	}
	if (delays->unsure > 0) {
		fprintf(output,
			"! %" PRIu64 " of the waits may be for another rank: two came at the same "
			"time within the error of the clocks\n",
			delays->unsure);
	}
	if (delays->shortened > 0) {
		fprintf(output,
			"! in %" PRIu64 " waits the ranks were compared over their last calls "
			"only: there are too many\n",
			delays->shortened);
	}
	return r == 0 && ferror(output) ? -EIO : r;
}

static int path_rows_write(const struct hk_history *history, const struct hk_path *path,
			   FILE *output, bool colour)
{
	struct hk_table *table = hk_table_new(">rank|<on the critical path:72|>s|>of it %|>times");
	char text[HK_WORK_TEXT_BYTES], name[HK_NAME_BYTES(TEXT_COLUMNS)];
	char seconds[HK_QUANTITY_BYTES];

	for (size_t i = 0; i < path->rows.count && i < ROWS_SHOWN; i++) {
		const struct hk_work_row *row = &path->rows.list[i];
		hk_name_print(name, TEXT_COLUMNS, hk_work_text(history, row->key, text));
		hk_table_add(table, "%" PRId32, rank_of(history, row));
		hk_table_add(table, "%s", name);
		hk_table_add(table, "%s", hk_quantity_seconds(seconds, row->ns));
		hk_table_add(table, "%.1f", percent(row->ns, path->all_ns));
		hk_table_add(table, "%" PRIu64, row->times);
	}
	int r = hk_table_write(table, output, colour);
	hk_table_free(table);
	return r;
}

int hk_path_table_write_text(const struct hk_history *history, const struct hk_path *path,
			     FILE *output, bool colour)
{
	char time[HK_QUANTITY_BYTES];

	notes_write(history, output);
	if (path->last < 0) {
		fputs("no calls were recorded\n", output);
		return ferror(output) ? -EIO : 0;
	}
	fprintf(output, "critical path: %s, ends in rank %" PRId32,
		hk_quantity_time(time, path->all_ns), path->last);
	for (unsigned i = 0; i < HK_WORK_CLASSES; i++) {
		if (path->class_ns[i] > 0) {
			fprintf(output, "; %s %.1f %%", hk_work_class_name((enum hk_work_class)i),
				percent(path->class_ns[i], path->all_ns));
		}
	}
	fputs("\n\n", output);
	int r = path_rows_write(history, path, output, colour);
	more_write(&path->rows, output);
	stacks_write(history, &path->rows, output);
	fprintf(output, "\n%" PRIu64 " times it changes to another rank\n", path->jumps);
	if (path->unsure > 0) {
		fprintf(output,
			"! %" PRIu64 " times it may go to another rank, within the error of the "
			"clocks (%s)\n",
			path->unsure, hk_quantity_time(time, (double)history->clock_error_ns));
	}
	return r == 0 && ferror(output) ? -EIO : r;
}

/* ---- JSON ---- */

static void function_write(const struct hk_history *history, const char *key, uint32_t activity,
			   struct hk_json *json)
{
	if (activity < HK_ACTIVITIES) {
		hk_json_string(json, key, history->activities[activity].function);
	} else {
		hk_json_null(json, key);
	}
}

static void frames_write(const struct hk_activity *activity, struct hk_json *json)
{
	uint32_t numbers[HK_STACK_TABLE_FRAMES];
	size_t count =
	    activity ? hk_stack_table_frames(activity->process, activity->stack, numbers) : 0;

	hk_json_open(json, "frames", '[');
	for (size_t i = 0; i < count; i++) {
		hk_frame_json_write(activity->process, numbers[i], json);
	}
	hk_json_close(json, ']');
}

/* Writes the members that rows of both tables have. */
static void work_write(const struct hk_history *history, const struct hk_work_row *row,
		       struct hk_json *json)
{
	char text[HK_WORK_TEXT_BYTES];
	bool call = hk_work_is_call(row->key);

	hk_json_int(json, "rank", rank_of(history, row));
	hk_json_string(json, "class", hk_work_class_name(hk_work_class_of(history, row->key)));
	hk_json_string(json, "text", hk_work_text(history, row->key, text));
	if (row->key != HK_WORK_UNKNOWN_KEY) {
		function_write(history, call ? "function" : "after",
			       call ? hk_work_activity(row->key) : (uint32_t)(row->key >> 32),
			       json);
		if (!call) {
			function_write(history, "before", hk_work_activity(row->key), json);
		}
	}
	hk_json_uint(json, "times", row->times);
	if (hk_work_stack(history, row->key)) {
		frames_write(hk_work_stack(history, row->key), json);
	}
}

void hk_delay_table_write_members(const struct hk_history *history, const struct hk_delays *delays,
				  size_t most, struct hk_json *json)
{
	hk_json_open(json, "delays", '[');
	for (size_t i = 0; i < delays->rows.count && i < most; i++) {
		const struct hk_work_row *row = &delays->rows.list[i];
		hk_json_newline(json);
		hk_json_open(json, NULL, '{');
		hk_json_uint(json, "cost_ns", whole_ns(row->ns));
		hk_json_uint(json, "passed_ns", whole_ns(row->passed_ns));
		work_write(history, row, json);
		hk_json_close(json, '}');
	}
	hk_json_close(json, ']');
	hk_json_newline(json);
	hk_json_uint(json, "delay_rows", delays->rows.count);
	hk_json_uint(json, "waits", delays->waits);
	hk_json_uint(json, "wait_ns", whole_ns(delays->wait_ns));
	hk_json_uint(json, "uncharged_ns", whole_ns(delays->uncharged_ns));
	hk_json_uint(json, "other_ns", whole_ns(delays->rows.other_ns));
	hk_json_uint(json, "unsure_waits", delays->unsure);
	hk_json_uint(json, "shortened_waits", delays->shortened);
}

void hk_path_table_write_members(const struct hk_history *history, const struct hk_path *path,
				 size_t most, struct hk_json *json)
{
	hk_json_open(json, "path", '[');
	for (size_t i = 0; i < path->rows.count && i < most; i++) {
		const struct hk_work_row *row = &path->rows.list[i];
		hk_json_newline(json);
		hk_json_open(json, NULL, '{');
		hk_json_uint(json, "ns", whole_ns(row->ns));
		work_write(history, row, json);
		hk_json_close(json, '}');
	}
	hk_json_close(json, ']');
	hk_json_newline(json);
	hk_json_uint(json, "path_rows", path->rows.count);
	hk_json_uint(json, "path_ns", whole_ns(path->all_ns));
	hk_json_open(json, "path_classes", '{');
	for (unsigned i = 0; i < HK_WORK_CLASSES; i++) {
		hk_json_uint(json, hk_work_class_name((enum hk_work_class)i),
			     whole_ns(path->class_ns[i]));
	}
	hk_json_close(json, '}');
	hk_json_uint(json, "path_jumps", path->jumps);
	hk_json_uint(json, "path_unsure", path->unsure);
	hk_json_int(json, "path_last", path->last);
}

static void incomplete_write(const struct hk_history *history, struct hk_json *json)
{
	struct hk_history_notes notes;

	hk_history_notes_make(history, &notes);
	hk_history_notes_write_json(&notes, json);
	hk_json_bool(json, "damaged", history->damaged);
}

int hk_delay_table_write_json(const struct hk_history *history, const struct hk_delays *delays,
			      FILE *output)
{
	struct hk_json json = {.output = output};

	hk_json_open(&json, NULL, '{');
	incomplete_write(history, &json);
	hk_delay_table_write_members(history, delays, SIZE_MAX, &json);
	hk_json_close(&json, '}');
	fputc('\n', output);
	return ferror(output) ? -EIO : 0;
}

int hk_path_table_write_json(const struct hk_history *history, const struct hk_path *path,
			     FILE *output)
{
	struct hk_json json = {.output = output};

	hk_json_open(&json, NULL, '{');
	incomplete_write(history, &json);
	hk_path_table_write_members(history, path, SIZE_MAX, &json);
	hk_json_close(&json, '}');
	fputc('\n', output);
	return ferror(output) ? -EIO : 0;
}

/* ---- CSV ---- */

static void csv_work_write(const struct hk_history *history, const struct hk_work_row *row,
			   FILE *output)
{
	char text[HK_WORK_TEXT_BYTES];

	fprintf(output, "%" PRId32 ",%s,", rank_of(history, row),
		hk_work_class_name(hk_work_class_of(history, row->key)));
	hk_csv_text(output, hk_work_text(history, row->key, text));
	fprintf(output, ",%" PRIu64 ",%" PRIu64, row->times, whole_ns(row->ns));
}

int hk_delay_table_write_csv(const struct hk_history *history, const struct hk_delays *delays,
			     FILE *output)
{
	fputs("rank,class,text,times,cost_ns,passed_ns\n", output);
	for (size_t i = 0; i < delays->rows.count; i++) {
		csv_work_write(history, &delays->rows.list[i], output);
		fprintf(output, ",%" PRIu64 "\n", whole_ns(delays->rows.list[i].passed_ns));
	}
	return ferror(output) ? -EIO : 0;
}

int hk_path_table_write_csv(const struct hk_history *history, const struct hk_path *path,
			    FILE *output)
{
	fputs("rank,class,text,times,ns\n", output);
	for (size_t i = 0; i < path->rows.count; i++) {
		csv_work_write(history, &path->rows.list[i], output);
		fputc('\n', output);
	}
	return ferror(output) ? -EIO : 0;
}
