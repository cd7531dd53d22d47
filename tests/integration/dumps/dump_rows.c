/* Writes the part of one process of a dump from lines on stdin, for tests that know the truth.
 *
 *     dump_rows DIRECTORY RANK ABOUT ELEMENTS < LINES
 *
 * A line has fields with tabs between: "row" and the 20 fields that row_take names, or "stack" and
 * frames, innermost first: stacks are numbered from 0. Elements are those of the file ELEMENTS from
 * a byte on; "store" keeps them in the dump, "statistics" only what is taken of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dump/writer.h"
#include "tensor/statistics.h"

#define FIELDS 64
#define DIMENSIONS 16

static struct hk_dump_writer *writer;
static FILE *elements_file;
static uint32_t stacks[4096];
static size_t stack_count;

static void fail(const char *what)
{
	fprintf(stderr, "dump_rows: %s\n", what);
	exit(1);
}

static size_t split(char *line, char *fields[FIELDS])
{
	size_t count = 0;

	for (char *field; count < FIELDS && (field = strsep(&line, "\t\n"));) {
		fields[count++] = field;
	}
	return count;
}

static uint64_t number(const char *text)
{
	return strtoull(text, NULL, 0);
}

static uint32_t shape_take(char *text, uint64_t shape[DIMENSIONS])
{
	uint32_t dimensions = 0;

	for (char *size; *text && dimensions < DIMENSIONS && (size = strsep(&text, ","));) {
		shape[dimensions++] = number(size);
		if (!text) {
			break;
		}
	}
	return dimensions;
}

static void *elements_read(uint64_t from, uint64_t count, enum hk_dtype dtype)
{
	size_t bytes = (size_t)count * hk_dtype_bytes(dtype);
	void *elements = malloc(bytes + 1);

	if (!elements || fseek(elements_file, (long)from, SEEK_SET) != 0 ||
	    fread(elements, 1, bytes, elements_file) != bytes) {
		fail("cannot read elements");
	}
	return elements;
}

static void tensor_add(struct hk_dump_row *row, uint64_t from, int store)
{
	uint64_t count = 1;

	for (uint32_t i = 0; i < row->dimensions; i++) {
		count *= row->shape[i];
	}
	void *elements = elements_read(from, count, row->dtype);
	const struct hk_tensor tensor = {.data = elements,
					 .dtype = row->dtype,
					 .dimensions = row->dimensions,
					 .shape = row->shape};
	if (hk_statistics_take(&tensor, &row->statistics) < 0) {
		fail("no statistics");
	}
	hk_dump_writer_add(writer, row, store ? &tensor : NULL);
	free(elements);
}

static void row_take(char *fields[FIELDS], size_t count)
{
	uint64_t shape[DIMENSIONS];
	struct hk_dump_row row;

	if (count < 21) {
		fail("a row has 20 fields");
	}
	row = (struct hk_dump_row){
	    .sequence = number(fields[1]),
	    .forward_sequence = number(fields[2]),
	    .step = number(fields[3]),
	    .kind = (enum hk_dump_kind)number(fields[4]),
	    .phase = (enum hk_dump_phase)number(fields[5]),
	    .role = (enum hk_dump_role)number(fields[6]),
	    .name = fields[7],
	    .of = fields[8],
	    .number = (uint32_t)number(fields[9]),
	    .slot = fields[10],
	    .device = fields[11],
	    .scalar = *fields[12] ? fields[12] : NULL,
	    .flags = (uint32_t)number(fields[13]),
	    .dtype = hk_dtype_parse(fields[14]),
	    .dimensions = shape_take(fields[15], shape),
	    .shape = shape,
	    .storage = number(fields[16]),
	    .version = number(fields[17]),
	    .offset = number(fields[18]),
	    .stack = *fields[19] ? stacks[number(fields[19])] : HK_DUMP_NONE,
	};
	if (row.scalar) {
		row.dtype = HK_DTYPE_NONE;
		row.dimensions = 0;
		hk_dump_writer_add(writer, &row, NULL);
	} else {
		tensor_add(&row, number(fields[20]),
			   count > 21 && strcmp(fields[21], "store") == 0);
	}
}

static void stack_take(char *fields[FIELDS], size_t count)
{
	if (stack_count == sizeof(stacks) / sizeof(stacks[0])) {
		fail("too many stacks");
	}
	stacks[stack_count++] =
	    hk_dump_writer_stack(writer, (const char *const *)fields + 1, (uint32_t)count - 1);
}

static void lines_take(void)
{
	char *line = NULL, *fields[FIELDS];
	size_t capacity = 0;
	ssize_t length;

	while ((length = getline(&line, &capacity, stdin)) > 0) {
		if (line[length - 1] == '\n') {
			line[length - 1] = '\0';
		}
		size_t count = split(line, fields);
		if (strcmp(fields[0], "row") == 0) {
			row_take(fields, count);
		} else if (strcmp(fields[0], "stack") == 0) {
			stack_take(fields, count);
		} else if (strcmp(fields[0], "step") == 0) {
			hk_dump_writer_step(writer, number(fields[1]));
		} else {
			fail("neither row, stack nor step");
		}
	}
	free(line);
}

int main(int argc, char **argv)
{
	struct hk_dump_counts counts;
	char reason[512];

	if (argc != 5) {
		fail("usage: dump_rows DIRECTORY RANK ABOUT ELEMENTS < LINES");
	}
	const struct hk_dump_settings settings = {.directory = argv[1],
						  .rank = (uint32_t)number(argv[2]),
						  .about = argv[3],
						  .limit_bytes = UINT64_MAX,
						  .compression = 1};
	writer = hk_dump_writer_open(&settings, reason, sizeof(reason));
	elements_file = fopen(argv[4], "rb");
	if (!writer || !elements_file) {
		fail(writer ? "cannot open the elements" : reason);
	}
	lines_take();
	fclose(elements_file);
	if (hk_dump_writer_close(writer, &counts) != 0 || counts.rows_left_out != 0) {
		fail("the dump is not complete");
	}
	return 0;
}
