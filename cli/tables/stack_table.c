#include "cli/tables/stack_table.h"

#include <errno.h>
#include <inttypes.h>

#include "cli/tables/frame_json.h"
#include "report/write/frame_text.h"
#include "text/csv_text.h"
#include "text/json_stream.h"
#include "text/name.h"
#include "text/quantity.h"

#define SHOWN 20u
#define FRAME_BYTES 1024
#define FRAME_COLUMNS 100

/* ---- frames ---- */

size_t hk_stack_table_frames(const Hk__Process *process, uint32_t stack,
			     uint32_t ret_numbers[HK_STACK_TABLE_FRAMES])
{
	struct hk_stacks_frame frame;
	size_t count = 0;

	while (count < HK_STACK_TABLE_FRAMES && hk_stacks_frame(process, stack, &frame)) {
		ret_numbers[count++] = stack;
		stack = frame.caller;
	}
	return count;
}

static void write_function(const char *name, const char *place, size_t line, FILE *output)
{
	char shown[HK_NAME_BYTES(FRAME_COLUMNS)], shown_place[HK_NAME_BYTES(FRAME_COLUMNS)];

	hk_name_print(shown, FRAME_COLUMNS, name);
	hk_name_print_end(shown_place, FRAME_COLUMNS, place);
	fprintf(output, "    #%-3zu %s%s", line, shown, shown_place);
}

size_t hk_stack_table_write_frame(const Hk__Process *process, uint32_t number, size_t line,
				  FILE *output)
{
	struct hk_stacks_function functions[HK_STACKS_FUNCTIONS_MOST];
	char name[FRAME_BYTES], place[FRAME_BYTES];
	struct hk_stacks_frame frame;

	hk_stacks_frame(process, number, &frame);
	if (frame.object == HK_STACKS_OBJECT_END) {
		hk_frame_text_end(&frame, name, sizeof(name));
		write_function(name, "", line, output);
		fputc('\n', output);
		return line + 1;
	}
	size_t count = hk_stacks_functions(process, number, functions);
	for (size_t i = 0; i < count; i++) {
		hk_frame_text_name(&frame, &functions[i], name, sizeof(name));
		hk_frame_text_place(&frame, &functions[i], place, sizeof(place));
		write_function(name, place, line + i, output);
		fputs(functions[i].inlined ? " [inlined]\n" : "\n", output);
	}
	return line + count;
}

/* ---- text ---- */

static void write_head(const struct hk_stack_row *row, FILE *output, bool colour)
{
	char function[HK_NAME_BYTES(FRAME_COLUMNS)], library[HK_NAME_BYTES(FRAME_COLUMNS)];
	char total[HK_QUANTITY_BYTES];

	hk_name_print(function, FRAME_COLUMNS, row->function);
	hk_name_print_end(library, FRAME_COLUMNS, hk_name_base(row->library));
	fprintf(output, "%s%s%s from %s: %" PRIu64 " calls, %s", colour ? "\033[1m" : "", function,
		colour ? "\033[0m" : "", library, row->calls,
		hk_quantity_duration(total, row->total_ns));
	if (row->ranks == 1) {
		fprintf(output, ", rank %" PRId32, row->rank);
	} else if (row->ranks > 1) {
		fprintf(output, ", %" PRIu32 " ranks", row->ranks);
	}
	fputc('\n', output);
}

/* Says of which functions only some calls have a stack: their times are a part of the whole. */
static void write_shares(const struct hk_stack_rows *rows, FILE *output)
{
	char function[HK_NAME_BYTES(FRAME_COLUMNS)], total[HK_QUANTITY_BYTES];

	for (size_t i = 0; i < rows->share_count; i++) {
		const struct hk_stack_share *share = &rows->shares[i];
		if (share->stacks < share->calls) {
			hk_name_print(function, FRAME_COLUMNS, share->function);
			fprintf(output,
				"! %s: stacks of %" PRIu64 " of %" PRIu64 " calls; all took %s\n",
				function, share->stacks, share->calls,
				hk_quantity_duration(total, share->total_ns));
		}
	}
}

static void write_notes(const struct hk_stack_rows *rows, FILE *output)
{
	if (rows->count > SHOWN) {
		fprintf(output, "%zu further stacks: see --format csv\n", rows->count - SHOWN);
	}
	if (rows->count == 0) {
		fputs("no stacks: run with --level 'FUNCTION=record+stack'\n", output);
	}
	write_shares(rows, output);
	if (rows->refused > 0) {
		fprintf(output,
			"! %" PRIu64 " stacks could not be kept for lack of room in segments\n",
			rows->refused);
	}
	if (*rows->python_note) {
		fprintf(output, "! %s\n", rows->python_note);
	}
	hk_unread_write_text(&rows->unread, output);
}

int hk_stack_table_write_text(const struct hk_stack_rows *rows, FILE *output, bool colour)
{
	uint32_t numbers[HK_STACK_TABLE_FRAMES];

	for (size_t i = 0; i < rows->count && i < SHOWN; i++) {
		const struct hk_stack_row *row = &rows->rows[i];
		size_t count = hk_stack_table_frames(row->process, row->stack, numbers), line = 0;
		write_head(row, output, colour);
		for (size_t k = 0; k < count; k++) {
			line = hk_stack_table_write_frame(row->process, numbers[k], line, output);
		}
		fputc('\n', output);
	}
	write_notes(rows, output);
	return ferror(output) ? -EIO : 0;
}

/* ---- JSON, CSV ---- */

int hk_stack_table_write_json(const struct hk_stack_rows *rows, FILE *output)
{
	struct hk_json json = {.output = output};
	uint32_t numbers[HK_STACK_TABLE_FRAMES];

	hk_json_open(&json, NULL, '{');
	hk_json_open(&json, "stacks", '[');
	for (size_t i = 0; i < rows->count; i++) {
		const struct hk_stack_row *row = &rows->rows[i];
		size_t count = hk_stack_table_frames(row->process, row->stack, numbers);
		hk_json_newline(&json);
		hk_json_open(&json, NULL, '{');
		hk_json_int(&json, "rank", row->rank);
		hk_json_uint(&json, "ranks", row->ranks);
		hk_json_string(&json, "function", row->function);
		hk_json_string(&json, "library", row->library);
		hk_json_uint(&json, "calls", row->calls);
		hk_json_uint(&json, "total_ns", row->total_ns);
		hk_json_open(&json, "frames", '[');
		for (size_t k = 0; k < count; k++) {
			hk_frame_json_write(row->process, numbers[k], &json);
		}
		hk_json_close(&json, ']');
		hk_json_close(&json, '}');
	}
	hk_json_close(&json, ']');
	hk_json_open(&json, "functions", '[');
	for (size_t i = 0; i < rows->share_count; i++) {
		hk_json_newline(&json);
		hk_json_open(&json, NULL, '{');
		hk_json_string(&json, "function", rows->shares[i].function);
		hk_json_uint(&json, "calls", rows->shares[i].calls);
		hk_json_uint(&json, "stacks", rows->shares[i].stacks);
		hk_json_uint(&json, "total_ns", rows->shares[i].total_ns);
		hk_json_close(&json, '}');
	}
	hk_json_close(&json, ']');
	hk_json_uint(&json, "calls_without", rows->calls_without);
	hk_json_uint(&json, "refused", rows->refused);
	hk_json_string(&json, "python_note", rows->python_note);
	hk_unread_write_json(&rows->unread, &json);
	hk_json_close(&json, '}');
	fputc('\n', output);
	return ferror(output) ? -EIO : 0;
}

/* Writes TEXT with INSTEAD for each character TAKEN, which has a meaning in the format. */
static void write_link(const char *text, char taken, const char *instead, FILE *output)
{
	for (const char *at = text; *at; at++) {
		if (*at == taken) {
			fputs(instead, output);
		} else {
			fputc((unsigned char)*at < ' ' ? '?' : *at, output);
		}
	}
}

/* Writes the functions on the stack of ROW, outermost first and with ";" between. */
static void write_chain(const struct hk_stack_row *row, char taken, const char *instead,
			FILE *output)
{
	uint32_t numbers[HK_STACK_TABLE_FRAMES];
	struct hk_stacks_function functions[HK_STACKS_FUNCTIONS_MOST];
	char text[FRAME_BYTES];
	struct hk_stacks_frame frame;

	for (size_t k = hk_stack_table_frames(row->process, row->stack, numbers); k-- > 0;) {
		hk_stacks_frame(row->process, numbers[k], &frame);
		bool is_end = frame.object == HK_STACKS_OBJECT_END;
		if (is_end) {
			hk_frame_text_end(&frame, text, sizeof(text));
			write_link(text, taken, instead, output);
		}
		for (size_t i = is_end ? 0
				       : hk_stacks_functions(row->process, numbers[k], functions);
		     i-- > 0;) {
			hk_frame_text_name(&frame, &functions[i], text, sizeof(text));
			write_link(text, taken, instead, output);
			fputs(i > 0 ? ";" : "", output);
		}
		fputs(k > 0 ? ";" : "", output);
	}
}

int hk_stack_table_write_csv(const struct hk_stack_rows *rows, FILE *output)
{
	fputs("function,library,rank,ranks,calls,total_ns,stack\n", output);
	for (size_t i = 0; i < rows->count; i++) {
		const struct hk_stack_row *row = &rows->rows[i];
		hk_csv_text(output, row->function);
		fputc(',', output);
		hk_csv_text(output, row->library);
		fprintf(output, ",%" PRId32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",\"", row->rank,
			row->ranks, row->calls, row->total_ns);
		write_chain(row, '"', "\"\"", output);
		fputs("\"\n", output);
	}
	return ferror(output) ? -EIO : 0;
}

int hk_stack_table_write_folded(const struct hk_stack_rows *rows, FILE *output)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct hk_stack_row *row = &rows->rows[i];
		write_chain(row, ';', ":", output);
		fprintf(output, ";%s %" PRIu64 "\n", row->function, row->total_ns);
	}
	return ferror(output) ? -EIO : 0;
}
