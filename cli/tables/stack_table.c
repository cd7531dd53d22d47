#include "cli/tables/stack_table.h"

#include <errno.h>
#include <inttypes.h>

#include "text/csv_text.h"
#include "text/json_stream.h"
#include "text/name.h"
#include "text/quantity.h"

#define SHOWN 20u
#define FRAME_BYTES 1024
#define FRAME_COLUMNS 100
#define FRAMES_MOST 512u /* of one stack; the agent keeps fewer: 256 native, 240 of Python */

/* Writes the numbers of the stack's frames, innermost first. Returns how many there are. */
static size_t frames_of(const struct hk_stack_row *row, uint32_t numbers[FRAMES_MOST])
{
	struct hk_stacks_frame frame;
	uint32_t number = row->stack;
	size_t count = 0;

	while (count < FRAMES_MOST && hk_stacks_frame(row->process, number, &frame)) {
		numbers[count++] = number;
		number = frame.caller;
	}
	return count;
}

static void name_frame(const struct hk_stack_row *row, uint32_t number, char text[FRAME_BYTES])
{
	struct hk_stacks_frame frame;

	hk_stacks_frame(row->process, number, &frame);
	hk_stack_rows_frame(&frame, text, FRAME_BYTES);
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

int hk_stack_table_write_text(const struct hk_stack_rows *rows, FILE *output, bool colour)
{
	char text[FRAME_BYTES], shown[HK_NAME_BYTES(FRAME_COLUMNS)];
	uint32_t numbers[FRAMES_MOST];

	for (size_t i = 0; i < rows->count && i < SHOWN; i++) {
		size_t count = frames_of(&rows->rows[i], numbers);
		write_head(&rows->rows[i], output, colour);
		for (size_t k = 0; k < count; k++) {
			name_frame(&rows->rows[i], numbers[k], text);
			hk_name_print(shown, FRAME_COLUMNS, text);
			fprintf(output, "    #%-3zu %s\n", k, shown);
		}
		fputc('\n', output);
	}
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
	return ferror(output) ? -EIO : 0;
}

/* ---- JSON, CSV ---- */

static void write_python(const struct hk_stacks_frame *frame, struct hk_json *json)
{
	hk_json_string(json, "language", "python");
	hk_json_string(json, "function", frame->name);
	hk_json_string(json, "file", frame->path);
	if (frame->address) {
		hk_json_uint(json, "line", frame->address);
	} else {
		hk_json_null(json, "line");
	}
	hk_json_uint(json, "first_line", frame->first_line);
}

static void write_frame(const struct hk_stack_row *row, uint32_t number, struct hk_json *json)
{
	struct hk_stacks_frame frame;
	char text[FRAME_BYTES];

	hk_stacks_frame(row->process, number, &frame);
	hk_stack_rows_frame(&frame, text, sizeof(text));
	hk_json_open(json, NULL, '{');
	if (frame.object == HK_STACKS_OBJECT_END) {
		hk_json_string(json, "end", text);
	} else if (hk_stacks_is_python(&frame)) {
		write_python(&frame, json);
	} else {
		if (*frame.name) {
			hk_json_string(json, "function", text);
		} else {
			hk_json_null(json, "function");
		}
		hk_json_string(json, "library", frame.path);
		hk_json_uint(json, "address", frame.address);
	}
	hk_json_close(json, '}');
}

int hk_stack_table_write_json(const struct hk_stack_rows *rows, FILE *output)
{
	struct hk_json json = {.output = output};
	uint32_t numbers[FRAMES_MOST];

	hk_json_open(&json, NULL, '{');
	hk_json_open(&json, "stacks", '[');
	for (size_t i = 0; i < rows->count; i++) {
		const struct hk_stack_row *row = &rows->rows[i];
		size_t count = frames_of(row, numbers);
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
			write_frame(row, numbers[k], &json);
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
	hk_json_close(&json, '}');
	fputc('\n', output);
	return ferror(output) ? -EIO : 0;
}

/* Writes the frames of ROW, outermost first and with ";" between, with INSTEAD for each character
 * TAKEN, which the format has for itself. */
static void write_chain(const struct hk_stack_row *row, char taken, const char *instead,
			FILE *output)
{
	uint32_t numbers[FRAMES_MOST];
	char text[FRAME_BYTES];

	for (size_t k = frames_of(row, numbers); k-- > 0;) {
		name_frame(row, numbers[k], text);
		for (const char *at = text; *at; at++) {
			if (*at == taken) {
				fputs(instead, output);
			} else {
				fputc((unsigned char)*at < ' ' ? '?' : *at, output);
			}
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
