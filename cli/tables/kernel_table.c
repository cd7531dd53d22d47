#include "cli/tables/kernel_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tables/frame_json.h"
#include "cli/tables/stack_table.h"
#include "text/csv_text.h"
#include "text/json_stream.h"
#include "text/name.h"
#include "text/quantity.h"
#include "text/table.h"
#include "timeline/kernel_name.h"

#define SHOWN 40u
#define NAME_COLUMNS 60
#define STACK_FRAMES 24u /* of a stack as text */
#define WHOLE_BYTES 65536u

/* ---- text ---- */

/* Writes the short name of row INDEX. A name that an earlier row has too gets a number. */
static void label(const struct hk_kernel_rows *rows, size_t index, char text[HK_NAME_BYTES(128)])
{
	char name[HK_KERNEL_SHORT_BYTES], other[HK_KERNEL_SHORT_BYTES];
	char shown[HK_NAME_BYTES(NAME_COLUMNS)], shown_other[HK_NAME_BYTES(NAME_COLUMNS)];
	unsigned before = 0;

	hk_kernel_name_short(rows->rows[index].name, name, sizeof(name));
	hk_name_print(shown, NAME_COLUMNS, *name ? name : "(unknown)");
	for (size_t i = 0; i < index; i++) {
		hk_kernel_name_short(rows->rows[i].name, other, sizeof(other));
		hk_name_print(shown_other, NAME_COLUMNS, other);
		before += strcmp(shown, shown_other) == 0;
	}
	snprintf(text, HK_NAME_BYTES(128), before ? "%s #%u" : "%s", shown, before + 1);
}

/* Adds the cells of the most frequent shape of ROW, and how many others there are. */
static void add_shape(struct hk_table *table, const struct hk_kernel_row *row)
{
	char grid[HK_KERNEL_SHAPE_BYTES], block[HK_KERNEL_SHAPE_BYTES];

	if (row->shape_count == 0) {
		hk_table_add(table, "-");
		hk_table_add(table, "-");
		hk_table_add(table, "-");
		return;
	}
	hk_kernel_rows_dim(row->shapes[0].grid, grid);
	hk_kernel_rows_dim(row->shapes[0].block, block);
	hk_table_add(table, "%s", grid);
	hk_table_add(table, "%s", block);
	hk_table_add(table, "%zu", row->shape_count);
}

static void add_row(struct hk_table *table, const struct hk_kernel_rows *rows, size_t index)
{
	const struct hk_kernel_row *row = &rows->rows[index];
	char name[HK_NAME_BYTES(128)], text[HK_QUANTITY_BYTES];

	label(rows, index, name);
	hk_table_add(table, "%s", name);
	hk_table_add(table, "%" PRIu64, row->launches);
	hk_table_add(table, "%" PRIu64, row->failed);
	hk_table_add(table, "%s", hk_quantity_seconds(text, (double)row->host_ns));
	if (row->device_activities > 0) {
		hk_table_add(table, "%s", hk_quantity_seconds(text, (double)row->device_ns));
	} else {
		hk_table_add(table, "-");
	}
	add_shape(table, row);
	hk_table_add(table, "%" PRIu32, row->ranks);
}

static size_t frames_of(const struct hk_kernel_stack *stack,
			uint32_t ret_numbers[HK_STACK_TABLE_FRAMES])
{
	return stack->process ? hk_stack_table_frames(stack->process, stack->number, ret_numbers)
			      : 0;
}

static void write_stack(const char *what, const struct hk_kernel_stack *stack, FILE *output)
{
	uint32_t numbers[HK_STACK_TABLE_FRAMES];
	size_t count = frames_of(stack, numbers), line = 0;

	fprintf(output, "  %s stack, %" PRIu64 " launches\n", what, stack->launches);
	for (size_t i = 0; i < count && i < STACK_FRAMES; i++) {
		line = hk_stack_table_write_frame(stack->process, numbers[i], line, output);
	}
	if (count > STACK_FRAMES) {
		fprintf(output, "    (%zu more frames: --format json)\n", count - STACK_FRAMES);
	}
}

static void write_stacks(const struct hk_kernel_rows *rows, FILE *output)
{
	char name[HK_NAME_BYTES(128)];

	for (size_t i = 0; i < rows->count && i < SHOWN; i++) {
		const struct hk_kernel_row *row = &rows->rows[i];
		if (row->first.number == 0) {
			continue;
		}
		label(rows, i, name);
		fprintf(output, "\n%s\n", name);
		write_stack("first", &row->first, output);
		if (row->top.process != row->first.process ||
		    row->top.number != row->first.number) {
			write_stack("top", &row->top, output);
		}
	}
}

int hk_kernel_table_write_text(const struct hk_kernel_rows *rows, FILE *output, bool colour)
{
	if (rows->count == 0) {
		fputs("no kernels: no launch was recorded\n", output);
		return ferror(output) ? -EIO : 0;
	}
	struct hk_table *table =
	    hk_table_new("<kernel|>launches|>failed|>host s|>device s|>grid|>block|>shapes|>ranks");
	for (size_t i = 0; i < rows->count && i < SHOWN; i++) {
		add_row(table, rows, i);
	}
	int r = hk_table_write(table, output, colour);
	hk_table_free(table);
	fputs(
	    "host s: in the calls that launch; device s: as the device reports it; grid and block: "
	    "those launched most often\n",
	    output);
	if (rows->count > SHOWN) {
		fprintf(output, "%zu further kernels: see --format csv\n", rows->count - SHOWN);
	}
	if (rows->unrecorded > 0) {
		fprintf(output,
			"! %" PRIu64 " further calls that launch kernels were counted only\n",
			rows->unrecorded);
	}
	hk_unread_write_text(&rows->unread, output);
	write_stacks(rows, output);
	return r < 0 ? r : ferror(output) ? -EIO : 0;
}

/* ---- JSON, CSV ---- */

static void write_dim(struct hk_json *json, const char *key, uint64_t dim)
{
	hk_json_open(json, key, '[');
	hk_json_uint(json, NULL, (uint32_t)dim);
	hk_json_uint(json, NULL, dim >> 32 & 0xffff);
	hk_json_uint(json, NULL, dim >> 48);
	hk_json_close(json, ']');
}

static void write_shapes(struct hk_json *json, const struct hk_kernel_row *row)
{
	hk_json_open(json, "shapes", '[');
	for (size_t i = 0; i < row->shape_count; i++) {
		hk_json_open(json, NULL, '{');
		write_dim(json, "grid", row->shapes[i].grid);
		write_dim(json, "block", row->shapes[i].block);
		hk_json_uint(json, "shared_bytes", row->shapes[i].shared);
		hk_json_uint(json, "launches", row->shapes[i].launches);
		hk_json_close(json, '}');
	}
	hk_json_close(json, ']');
}

static void write_frames(struct hk_json *json, const char *key, const struct hk_kernel_stack *stack)
{
	uint32_t numbers[HK_STACK_TABLE_FRAMES];
	size_t count = frames_of(stack, numbers);

	if (count == 0) {
		hk_json_null(json, key);
		return;
	}
	hk_json_open(json, key, '{');
	hk_json_uint(json, "launches", stack->launches);
	hk_json_open(json, "frames", '[');
	for (size_t i = 0; i < count; i++) {
		hk_frame_json_write(stack->process, numbers[i], json);
	}
	hk_json_close(json, ']');
	hk_json_close(json, '}');
}

static void write_name(struct hk_json *json, const struct hk_kernel_row *row, char *whole)
{
	char name[HK_KERNEL_SHORT_BYTES];

	if (!*row->name) {
		hk_json_null(json, "kernel");
		return;
	}
	hk_kernel_name_whole(row->name, whole, WHOLE_BYTES);
	hk_json_string(json, "kernel", whole);
	hk_kernel_name_short(row->name, name, sizeof(name));
	hk_json_string(json, "short", name);
	hk_json_string(json, "symbol", row->name);
	if (row->cut_bytes > 0) {
		hk_json_uint(json, "cut_bytes", row->cut_bytes);
		hk_json_hex(json, "hash", row->hash);
	}
}

static void write_row(struct hk_json *json, const struct hk_kernel_row *row, char *whole)
{
	hk_json_newline(json);
	hk_json_open(json, NULL, '{');
	write_name(json, row, whole);
	hk_json_int(json, "rank", row->rank);
	hk_json_uint(json, "ranks", row->ranks);
	hk_json_uint(json, "launches", row->launches);
	hk_json_uint(json, "failed", row->failed);
	hk_json_uint(json, "host_ns", row->host_ns);
	hk_json_uint(json, "device_activities", row->device_activities);
	if (row->device_activities > 0) {
		hk_json_uint(json, "device_ns", row->device_ns);
	} else {
		hk_json_null(json, "device_ns");
	}
	write_shapes(json, row);
	write_frames(json, "first_stack", &row->first);
	write_frames(json, "top_stack", &row->top);
	hk_json_close(json, '}');
}

int hk_kernel_table_write_json(const struct hk_kernel_rows *rows, FILE *output)
{
	struct hk_json json = {.output = output};
	char *whole = malloc(WHOLE_BYTES);

	if (!whole) {
		return -ENOMEM;
	}
	hk_json_open(&json, NULL, '{');
	hk_json_open(&json, "kernels", '[');
	for (size_t i = 0; i < rows->count; i++) {
		write_row(&json, &rows->rows[i], whole);
	}
	hk_json_close(&json, ']');
	hk_json_uint(&json, "launches", rows->launches);
	hk_json_uint(&json, "unrecorded", rows->unrecorded);
	hk_unread_write_json(&rows->unread, &json);
	hk_json_close(&json, '}');
	fputc('\n', output);
	free(whole);
	return ferror(output) ? -EIO : 0;
}

static void write_line(const struct hk_kernel_row *row, const struct hk_kernel_shape *shape,
		       const char *whole, FILE *output)
{
	char grid[HK_KERNEL_SHAPE_BYTES], block[HK_KERNEL_SHAPE_BYTES];

	hk_kernel_rows_dim(shape->grid, grid);
	hk_kernel_rows_dim(shape->block, block);
	hk_csv_text(output, whole);
	fputc(',', output);
	hk_csv_text(output, row->name);
	fprintf(output, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", row->launches, row->failed,
		row->host_ns);
	if (row->device_activities > 0) {
		fprintf(output, "%" PRIu64, row->device_ns);
	}
	fprintf(output, ",%s,%s,%" PRIu64 ",%" PRIu64 "\n", grid, block, shape->shared,
		shape->launches);
}

int hk_kernel_table_write_csv(const struct hk_kernel_rows *rows, FILE *output)
{
	static const struct hk_kernel_shape none;
	char *whole = malloc(WHOLE_BYTES);

	if (!whole) {
		return -ENOMEM;
	}
	fputs("kernel,symbol,launches,failed,host_ns,device_ns,grid,block,shared_bytes,"
	      "shape_launches\n",
	      output);
	for (size_t i = 0; i < rows->count; i++) {
		const struct hk_kernel_row *row = &rows->rows[i];
		hk_kernel_name_whole(row->name, whole, WHOLE_BYTES);
		for (size_t k = 0; k < row->shape_count; k++) {
			write_line(row, &row->shapes[k], whole, output);
		}
		if (row->shape_count == 0) {
			write_line(row, &none, whole, output);
		}
	}
	free(whole);
	return ferror(output) ? -EIO : 0;
}
