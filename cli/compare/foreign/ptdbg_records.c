#include "cli/compare/foreign/ptdbg_records.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/compare/foreign/json_text.h"
#include "cli/compare/foreign/msprobe_name.h"
#include "cli/compare/foreign/ptdbg_name.h"
#include "cli/compare/foreign/python_text.h"

#define EDGE 256u    /* elements that are kept at both ends */
#define STEP_MAX 100 /* of dump_step */
#define FRAMES_MAX 256

struct reader {
	struct hk_foreign_rows *rows;
	const char *directory;
	json_t *counts;			/* phase and API -> calls so far */
	char call[HK_PTDBG_NAME_BYTES]; /* the name of the call whose records are read */
	uint64_t sequence;
	uint32_t number;
	uint32_t stack;	   /* of the call, or HK_DUMP_NONE */
	size_t call_first; /* its first row */
	size_t strange;
	bool later; /* the names are those of later versions: all elements are kept */
};

/* Whether two records are of one call: their names are the same up to "input" or "output". */
static void call_key(char key[HK_PTDBG_NAME_BYTES], const struct hk_ptdbg_name *name)
{
	if (name->has_firing) {
		snprintf(key, HK_PTDBG_NAME_BYTES, "%llu", (unsigned long long)name->firing);
	} else {
		snprintf(key, HK_PTDBG_NAME_BYTES, "%d %u %.480s", (int)name->phase, name->number,
			 name->api);
	}
}

/* The number of the call among those of its API and phase. */
static int number_count(struct reader *reader, const struct hk_ptdbg_name *name)
{
	char key[HK_PTDBG_NAME_BYTES];

	if (name->has_number) {
		reader->number = name->number;
		return 0;
	}
	snprintf(key, sizeof(key), "%d %.480s", (int)name->phase, name->api);
	json_int_t count = json_integer_value(json_object_get(reader->counts, key));
	reader->number = (uint32_t)count;
	return json_object_set_new(reader->counts, key, json_integer(count + 1)) < 0 ? -ENOMEM : 0;
}

static int call_enter(struct reader *reader, const struct hk_ptdbg_name *name)
{
	char key[HK_PTDBG_NAME_BYTES];

	call_key(key, name);
	if (!strcmp(key, reader->call)) {
		return 0;
	}
	snprintf(reader->call, sizeof(reader->call), "%s", key);
	reader->sequence = name->has_firing ? name->firing : reader->sequence + 1;
	reader->stack = HK_DUMP_NONE;
	reader->call_first = hk_foreign_rows_count(reader->rows);
	return number_count(reader, name);
}

/* ---- [name, [[path, line, function, code], ...]] ---- */

static int stack_add(struct reader *reader, const json_t *frames)
{
	char texts[FRAMES_MAX][HK_MSPROBE_NAME_BYTES];
	const char *pointers[FRAMES_MAX];
	size_t count = json_array_size(frames);

	count = count < FRAMES_MAX ? count : FRAMES_MAX;
	for (size_t i = 0; i < count; i++) {
		const json_t *frame = json_array_get(frames, i);
		char line[HK_PYTHON_NUMBER_BYTES], path[HK_MSPROBE_NAME_BYTES / 2], function[128];
		hk_python_text(path, sizeof(path), json_array_get(frame, 0));
		hk_python_text(line, sizeof(line), json_array_get(frame, 1));
		hk_python_text(function, sizeof(function), json_array_get(frame, 2));
		snprintf(texts[i], sizeof(texts[i]), "%s:%s %s", path, line, function);
		pointers[i] = texts[i];
	}
	int r = hk_foreign_rows_stack(reader->rows, pointers, (uint32_t)count, &reader->stack);
	/* The stack comes before the call's tensors, or after them. */
	for (size_t i = reader->call_first; r == 0 && i < hk_foreign_rows_count(reader->rows);
	     i++) {
		hk_foreign_rows_at(reader->rows, i)->stack = reader->stack;
	}
	return r;
}

/* ---- [name, dump_step, [], dtype, shape, [max, min, mean]] ---- */

static bool shape_take(const json_t *list, struct hk_dump_row *row,
		       uint64_t shape[HK_TENSOR_DIMENSIONS])
{
	if (!json_is_array(list) || json_array_size(list) > HK_TENSOR_DIMENSIONS) {
		return false;
	}
	row->dimensions = (uint32_t)json_array_size(list);
	for (uint32_t i = 0; i < row->dimensions; i++) {
		const json_t *size = json_array_get(list, i);
		if (!json_is_integer(size) || json_integer_value(size) < 0) {
			return false;
		}
		shape[i] = (uint64_t)json_integer_value(size);
	}
	row->shape = shape;
	return true;
}

static void statistics_take(struct hk_dump_row *row, const json_t *list)
{
	struct hk_statistics *known = &row->statistics;

	*known = hk_foreign_statistics(row->shape, row->dimensions);
	known->max = hk_json_text_number(json_array_get(list, 0));
	known->min = hk_json_text_number(json_array_get(list, 1));
	known->mean = hk_json_text_number(json_array_get(list, 2));
	if (json_array_size(list) != 3 || !json_is_number(json_array_get(list, 0))) {
		row->flags |= HK_DUMP_NO_STATISTICS;
	}
	known->positive_infs = isinf(known->max) && known->max > 0;
	known->negative_infs = isinf(known->min) && known->min < 0;
}

static bool elements_path(const struct reader *reader, const char *name, char path[PATH_MAX])
{
	if (!reader->directory || strchr(name, '/')) {
		return false;
	}
	int length = snprintf(path, PATH_MAX, "%s/%s.npy", reader->directory, name);
	return length > 0 && length < PATH_MAX && access(path, R_OK) == 0;
}

/* The first version keeps a sample of tensors with more than 512 elements. */
static struct hk_sampling sampling_of(const struct reader *reader, const json_t *record,
				      const struct hk_dump_row *row)
{
	json_int_t step = json_integer_value(json_array_get(record, 1));
	bool sampled =
	    !reader->later && step > 1 && step <= STEP_MAX && row->statistics.count > 2 * EDGE;

	return (struct hk_sampling){.edge = EDGE, .step = sampled ? (uint64_t)step : 0};
}

static int tensor_add(struct reader *reader, const char *text, const struct hk_ptdbg_name *name,
		      const json_t *record)
{
	uint64_t shape[HK_TENSOR_DIMENSIONS];
	char path[PATH_MAX];
	const char *dtype = json_string_value(json_array_get(record, 3));
	struct hk_dump_row row = {.sequence = reader->sequence,
				  .forward_sequence = reader->sequence,
				  .kind = HK_DUMP_API,
				  .phase = name->phase,
				  .role = name->role,
				  .name = name->api,
				  .number = reader->number,
				  /* A result that is no tuple has no place. */
				  .slot = name->slot[0] ? name->slot : "0",
				  .stack = reader->stack};

	if (!dtype || !shape_take(json_array_get(record, 4), &row, shape)) {
		return -EINVAL;
	}
	/* The hook of a backward pass has the gradients of inputs first. */
	if (name->phase == HK_DUMP_BACKWARD && reader->later) {
		row.role = name->role == HK_DUMP_INPUT ? HK_DUMP_OUTPUT : HK_DUMP_INPUT;
	}
	row.dtype = hk_dtype_parse(dtype);
	statistics_take(&row, json_array_get(record, 5));
	const struct hk_foreign_elements elements = {
	    .file = row.dtype != HK_DTYPE_NONE && elements_path(reader, text, path) ? path : NULL,
	    .sampling = sampling_of(reader, record, &row)};
	return hk_foreign_rows_add(reader->rows, &row, &elements);
}

static int record_add(struct reader *reader, const json_t *record)
{
	const char *text = json_string_value(json_array_get(record, 0));
	struct hk_ptdbg_name name;

	if (!text || !hk_ptdbg_name_parse(&name, text)) {
		return -EINVAL;
	}
	reader->later |= !name.has_firing;
	int r = call_enter(reader, &name);
	if (r < 0) {
		return r;
	}
	if (name.is_stack) {
		const json_t *frames = json_array_get(record, json_array_size(record) == 2 ? 1 : 2);
		return json_is_array(frames) ? stack_add(reader, frames) : -EINVAL;
	}
	return tensor_add(reader, text, &name, record);
}

/* ---- the file ---- */

static size_t spaces(const char *text, size_t length)
{
	size_t count = 0;

	while (count < length && strchr(" \t\r\n", text[count]) && text[count]) {
		count++;
	}
	return count;
}

/* Reads the record at TEXT. Returns the bytes it takes, or of the line if it is no record. */
static size_t record_read(struct reader *reader, const char *text, size_t length, int *r)
{
	json_error_t error;
	json_t *record = json_loadb(text, length, JSON_DISABLE_EOF_CHECK, &error);
	const char *newline = memchr(text, '\n', length);
	size_t taken = newline ? (size_t)(newline + 1 - text) : length;

	if (record) {
		*r = record_add(reader, record);
		taken = (size_t)error.position;
		json_decref(record);
	}
	if (!record || *r == -EINVAL) {
		reader->strange++;
		*r = 0;
	}
	return taken > 0 ? taken : length;
}

static int records_add(struct reader *reader, const char *text, size_t length)
{
	int r = 0;

	for (size_t at = spaces(text, length); r == 0 && at < length;) {
		at += record_read(reader, text + at, length - at, &r);
		at += spaces(text + at, length - at);
	}
	return r;
}

int hk_ptdbg_records_read(struct hk_foreign_rows *rows, const void *text, size_t size,
			  const char *directory)
{
	struct reader reader = {.rows = rows,
				.directory = directory,
				.counts = json_object(),
				.stack = HK_DUMP_NONE,
				.sequence = UINT64_MAX};
	size_t length = 0;
	char damage[HK_ARRAY_REASON_BYTES];
	char *quoted = hk_json_text_quote(text, size, &length);
	int r = quoted && reader.counts ? records_add(&reader, quoted, length) : -ENOMEM;

	if (reader.strange > 0) {
		snprintf(damage, sizeof(damage), "%zu records are not understood", reader.strange);
		hk_foreign_rows_damaged(rows, damage);
	}
	json_decref(reader.counts);
	free(quoted);
	return r;
}
