/* Prints what hookcli compare's readers make of files, as one JSON value a path: an array for
 * `dump_print array PATH ...`, a list of ranks with their rows for `dump_print rows PATH ...`. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare/array/array_file.h"
#include "cli/compare/source.h"

static json_t *hex(const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	char *text = malloc(2 * size + 1);

	text[0] = 0;
	for (size_t i = 0; i < size; i++) {
		snprintf(text + 2 * i, 3, "%02x", at[i]);
	}
	json_t *value = json_string(text);
	free(text);
	return value;
}

static json_t *shape_of(const uint64_t *shape, uint32_t dimensions)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < dimensions; i++) {
		json_array_append_new(list, json_integer((json_int_t)shape[i]));
	}
	return list;
}

/* A number as text: JSON has no NaN. */
static json_t *number(double value)
{
	char text[40];

	snprintf(text, sizeof(text), "%.17g", value);
	return json_string(text);
}

static json_t *array_print(const char *path)
{
	char reason[HK_ARRAY_REASON_BYTES];
	struct hk_array array;
	json_t *value = json_object();

	if (hk_array_file_read(&array, path, reason) < 0) {
		json_object_set_new(value, "error", json_string(reason));
		return value;
	}
	json_object_set_new(value, "dtype", json_string(hk_dtype_name(array.dtype)));
	json_object_set_new(value, "shape", shape_of(array.shape, array.dimensions));
	json_object_set_new(value, "elements",
			    hex(array.elements, (size_t)array.count * hk_dtype_bytes(array.dtype)));
	hk_array_free(&array);
	return value;
}

static void statistics_print(json_t *value, const struct hk_statistics *statistics)
{
	json_object_set_new(value, "count", json_integer((json_int_t)statistics->count));
	json_object_set_new(value, "nans", json_integer((json_int_t)statistics->nans));
	json_object_set_new(value, "max", number(statistics->max));
	json_object_set_new(value, "min", number(statistics->min));
	json_object_set_new(value, "mean", number(statistics->mean));
	json_object_set_new(value, "l2", number(statistics->l2));
}

/* The elements of a row, or why there are none. */
static void elements_print(json_t *value, struct hk_values *values, size_t index,
			   const struct hk_dump_row *row)
{
	const char *reason;
	struct hk_sampling sampling = {.step = 0};
	const void *elements = values->ops->elements(values, index, &reason);

	if (!elements) {
		json_object_set_new(value, "without", json_string(reason));
		return;
	}
	if (values->ops->sampling && values->ops->sampling(values, index, &sampling)) {
		json_object_set_new(value, "step", json_integer((json_int_t)sampling.step));
		return;
	}
	size_t bytes = (size_t)row->statistics.count * hk_dtype_bytes(row->dtype);
	json_object_set_new(value, "elements", hex(elements, bytes));
}

static json_t *row_print(struct hk_values *values, size_t index)
{
	struct hk_dump_row row;
	const char *const *frames;
	json_t *value = json_object();

	values->ops->row(values, index, &row);
	json_object_set_new(value, "name", json_string(row.name));
	json_object_set_new(value, "of", json_string(row.of));
	json_object_set_new(value, "slot", json_string(row.slot));
	json_object_set_new(value, "scalar", row.scalar ? json_string(row.scalar) : json_null());
	json_object_set_new(value, "kind", json_integer(row.kind));
	json_object_set_new(value, "phase", json_integer(row.phase));
	json_object_set_new(value, "role", json_integer(row.role));
	json_object_set_new(value, "number", json_integer(row.number));
	json_object_set_new(value, "step", json_integer((json_int_t)row.step));
	json_object_set_new(value, "sequence", json_integer((json_int_t)row.sequence));
	json_object_set_new(value, "forward", json_integer((json_int_t)row.forward_sequence));
	json_object_set_new(value, "flags", json_integer(row.flags));
	json_object_set_new(value, "dtype", json_string(hk_dtype_name(row.dtype)));
	json_object_set_new(value, "shape", shape_of(row.shape, row.dimensions));
	if (values->ops->stack(values, row.stack, &frames) > 0) {
		json_object_set_new(value, "frame", json_string(frames[0]));
	}
	if (row.has_payload) {
		elements_print(value, values, index, &row);
		values->ops->row(values, index, &row);
	}
	statistics_print(value, &row.statistics);
	return value;
}

static json_t *rows_print(const char *path)
{
	char reason[HK_SOURCE_REASON_BYTES];
	struct hk_dump_set set;
	json_t *ranks = json_array();

	if (hk_dump_set_open(&set, path, reason) < 0) {
		json_decref(ranks);
		return json_pack("{s:s}", "error", reason);
	}
	for (size_t i = 0; i < set.parts.count; i++) {
		struct hk_values *values = hk_dump_set_values(&set, i, reason);
		if (!values) {
			json_array_append_new(ranks, json_pack("{s:s}", "error", reason));
			continue;
		}
		json_t *rows = json_array();
		for (size_t row = 0; row < values->count; row++) {
			json_array_append_new(rows, row_print(values, row));
		}
		json_array_append_new(
		    ranks, json_pack("{s:i, s:s, s:s?, s:o}", "rank", (int)values->rank, "source",
				     set.source->name, "damage", values->damage, "rows", rows));
	}
	hk_dump_set_close(&set);
	return ranks;
}

int main(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		json_t *value =
		    strcmp(argv[1], "array") == 0 ? array_print(argv[i]) : rows_print(argv[i]);
		json_dumpf(value, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(value);
	}
	return 0;
}
