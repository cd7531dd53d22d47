#include "cli/compare/foreign/msprobe_rows.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/compare/foreign/json_text.h"
#include "cli/compare/foreign/msprobe_gradients.h"
#include "cli/compare/foreign/msprobe_name.h"
#include "cli/compare/foreign/python_text.h"

#define DEPTH_MAX 32 /* of lists within lists */
#define FRAMES_MAX 256
#define SLOT_BYTES 256
#define SCALAR_BYTES 512
#define ITEMS_MAX 64 /* values of a list that is one row */

/* A directory that is read. */
struct reader {
	struct hk_foreign_rows *rows;
	const char *directory;
	uint64_t step, *sequence;
	json_t *dump;
	json_t *stacks;	 /* name -> number of the stack */
	json_t *parents; /* construct.json: name -> the name of the module that called it */
	json_t *calls;	 /* kind, name and number of a forward call -> its sequence */
	size_t strange;	 /* entries that are no rows */
};

/* The row that is made, and what its pointers point to. */
struct building {
	struct hk_msprobe_name name;
	struct hk_dump_row row;
	char of[HK_MSPROBE_NAME_BYTES];
	uint64_t shape[HK_TENSOR_DIMENSIONS];
};

/* ---- stack.json ---- */

static int stack_add(struct reader *reader, const json_t *frames, uint32_t *ret_stack)
{
	char texts[FRAMES_MAX][HK_MSPROBE_NAME_BYTES];
	const char *pointers[FRAMES_MAX];
	size_t count = json_array_size(frames);

	count = count < FRAMES_MAX ? count : FRAMES_MAX;
	for (size_t i = 0; i < count; i++) {
		const char *text = json_string_value(json_array_get(frames, i));
		hk_msprobe_frame(texts[i], text ? text : "?");
		pointers[i] = texts[i];
	}
	return hk_foreign_rows_stack(reader->rows, pointers, (uint32_t)count, ret_stack);
}

/* {"0": [[names], [frames]], ...} */
static int stacks_read(struct reader *reader, json_t *file)
{
	const char *key;
	json_t *entry;

	json_object_foreach (file, key, entry) {
		const json_t *names = json_array_get(entry, 0);
		const json_t *frames = json_array_get(entry, 1);
		uint32_t stack;
		int r = json_is_array(frames) ? stack_add(reader, frames, &stack) : 1;
		if (r < 0) {
			return r;
		}
		for (size_t i = 0; r == 0 && i < json_array_size(names); i++) {
			const char *name = json_string_value(json_array_get(names, i));
			if (name &&
			    json_object_set_new(reader->stacks, name, json_integer(stack)) < 0) {
				return -ENOMEM;
			}
		}
	}
	return 0;
}

/* ---- one value ---- */

static double number_of(const json_t *value, const char *key)
{
	return hk_json_text_number(json_object_get(value, key));
}

/* Max, Min, Mean and Norm as torch has them: NaN and Inf are in them. */
static void statistics_take(struct hk_dump_row *row, const json_t *value)
{
	struct hk_statistics *known = &row->statistics;

	*known = hk_foreign_statistics(row->shape, row->dimensions);
	known->max = number_of(value, "Max");
	known->min = number_of(value, "Min");
	known->mean = number_of(value, "Mean");
	known->l2 = number_of(value, "Norm");
	const json_t *max = json_object_get(value, "Max");
	if (known->count > 0 && (!max || json_is_null(max))) {
		row->flags |= HK_DUMP_NO_STATISTICS;
	}
	known->nans = max && !json_is_null(max) && isnan(known->max);
	known->positive_infs = isinf(known->max) && known->max > 0;
	known->negative_infs = isinf(known->min) && known->min < 0;
}

/* The path of the elements of VALUE; false without, or if its name leads out of the directory. */
static bool elements_path(const struct reader *reader, const json_t *value, char path[PATH_MAX])
{
	const char *name = json_string_value(json_object_get(value, "data_name"));

	if (!name || strchr(name, '/')) {
		return false;
	}
	int length = snprintf(path, PATH_MAX, "%s/dump_tensor_data/%s", reader->directory, name);
	return length > 0 && length < PATH_MAX && access(path, R_OK) == 0;
}

/* A tensor. Returns 0, -EINVAL if the value is none, or another -errno. */
static int tensor_add(struct reader *reader, struct building *building, const json_t *value)
{
	const json_t *shape = json_object_get(value, "shape");
	const char *dtype = json_string_value(json_object_get(value, "dtype"));
	char path[PATH_MAX];
	struct hk_dump_row *row = &building->row;

	row->dimensions = (uint32_t)json_array_size(shape);
	if (!json_is_array(shape) || json_array_size(shape) > HK_TENSOR_DIMENSIONS || !dtype) {
		return -EINVAL;
	}
	for (uint32_t i = 0; i < row->dimensions; i++) {
		const json_t *size = json_array_get(shape, i);
		if (!json_is_integer(size) || json_integer_value(size) < 0) {
			return -EINVAL;
		}
		building->shape[i] = (uint64_t)json_integer_value(size);
	}
	row->shape = building->shape;
	row->scalar = NULL;
	row->dtype = hk_dtype_parse(dtype);
	row->flags =
	    json_is_true(json_object_get(value, "requires_grad")) ? HK_DUMP_REQUIRES_GRAD : 0;
	statistics_take(row, value);
	const struct hk_foreign_elements elements = {
	    .file =
		row->dtype != HK_DTYPE_NONE && elements_path(reader, value, path) ? path : NULL};
	return hk_foreign_rows_add(reader->rows, row, &elements);
}

static int scalar_add(struct reader *reader, struct building *building, const char *text)
{
	struct hk_dump_row *row = &building->row;

	row->scalar = text;
	row->dtype = HK_DTYPE_NONE;
	row->dimensions = 0;
	row->shape = NULL;
	row->flags = 0;
	row->statistics = (struct hk_statistics){0};
	return hk_foreign_rows_add(reader->rows, row, &(struct hk_foreign_elements){0});
}

static bool is_scalar(const json_t *value)
{
	return json_is_null(value) ||
	       (json_object_get(value, "type") && !json_object_get(value, "shape"));
}

/* Whether LIST is a row by itself: "(1, 1)". */
static bool is_scalars(const json_t *list)
{
	size_t i;
	json_t *item;

	if (!json_is_array(list) || json_array_size(list) > ITEMS_MAX) {
		return false;
	}
	json_array_foreach (list, i, item) {
		if (!is_scalar(item)) {
			return false;
		}
	}
	return true;
}

/* Writes a value as rows have it: strings are quoted. */
static void scalar_text(char text[SCALAR_BYTES], const json_t *value)
{
	const json_t *inner = json_object_get(value, "value");
	const char *type = json_string_value(json_object_get(value, "type"));

	if (type && !strcmp(type, "str") && json_is_string(inner)) {
		snprintf(text, SCALAR_BYTES, "'%s'", json_string_value(inner));
	} else {
		hk_python_text(text, SCALAR_BYTES, inner);
	}
}

static void scalars_text(char text[SCALAR_BYTES], const json_t *list)
{
	char item[SCALAR_BYTES];
	size_t length = (size_t)snprintf(text, SCALAR_BYTES, "(");

	for (size_t i = 0; i < json_array_size(list) && length < SCALAR_BYTES; i++) {
		scalar_text(item, json_array_get(list, i));
		length += (size_t)snprintf(text + length, SCALAR_BYTES - length, "%s%s",
					   i ? ", " : "", item);
	}
	if (length < SCALAR_BYTES) {
		snprintf(text + length, SCALAR_BYTES - length, ")");
	}
}

/* A gradient that is not there is no row. */
static int leaf_add(struct reader *reader, struct building *building, const json_t *value)
{
	char text[SCALAR_BYTES];

	if (json_is_null(value) && building->row.phase != HK_DUMP_FORWARD) {
		return 0;
	}
	if (json_object_get(value, "shape")) {
		int r = tensor_add(reader, building, value);
		reader->strange += r == -EINVAL;
		return r == -EINVAL ? 0 : r;
	}
	if (json_is_array(value)) {
		scalars_text(text, value);
	} else {
		scalar_text(text, value);
	}
	return scalar_add(reader, building, text);
}

/* Adds what VALUE holds: a tensor, a value, or lists and dictionaries of them. */
static int value_add(struct reader *reader, struct building *building, const json_t *value,
		     const char *slot, int depth)
{
	char inner[SLOT_BYTES];
	const char *key;
	json_t *item;
	size_t i;
	int r = 0;

	if (is_scalar(value) || (*slot && is_scalars(value)) || json_object_get(value, "shape")) {
		building->row.slot = slot;
		return leaf_add(reader, building, value);
	}
	if (depth == 0 || !(json_is_array(value) || json_is_object(value))) {
		reader->strange++;
		return 0;
	}
	json_array_foreach (value, i, item) {
		snprintf(inner, sizeof(inner), "%s%s%zu", slot, *slot ? "." : "", i);
		if ((r = value_add(reader, building, item, inner, depth - 1)) < 0) {
			return r;
		}
	}
	json_object_foreach ((json_t *)value, key, item) {
		snprintf(inner, sizeof(inner), "%s%s%s", slot, *slot ? "." : "", key);
		if ((r = value_add(reader, building, item, inner, depth - 1)) < 0) {
			return r;
		}
	}
	return 0;
}

/* ---- one call ---- */

/* Gradients of parameters are calls of their own: {name: [value]} of the module of CALL. */
static int gradients_add(struct reader *reader, const struct building *call,
			 const json_t *gradients)
{
	const char *key;
	json_t *value;

	json_object_foreach ((json_t *)gradients, key, value) {
		char name[2 * HK_MSPROBE_NAME_BYTES];
		struct building building = *call;
		snprintf(name, sizeof(name), "%s%s%s", call->name.name, *call->name.name ? "." : "",
			 key);
		building.row.role = HK_DUMP_INPUT;
		building.row.name = name;
		building.row.of = "";
		building.row.sequence = building.row.forward_sequence = (*reader->sequence)++;
		const json_t *first = json_is_array(value) ? json_array_get(value, 0) : value;
		int r = value_add(reader, &building, first, "grad", 0);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* The lists of a call. In the backward pass "output" holds the gradients of the inputs, which rows
 * have as those of the forward call's inputs. The parameters of a module are as the call read them,
 * before the step changed them: they are inputs of it. */
static int lists_add(struct reader *reader, struct building *building, const char *name,
		     const json_t *call)
{
	static const struct {
		const char *key;
		enum hk_dump_role forward, backward;
		bool is_parameters;
	} lists[] = {
	    {"input_args", HK_DUMP_INPUT, HK_DUMP_INPUT, false},
	    {"input_kwargs", HK_DUMP_KEYWORD, HK_DUMP_KEYWORD, false},
	    {"input", HK_DUMP_INPUT, HK_DUMP_OUTPUT, false},
	    {"parameters", HK_DUMP_KEYWORD, HK_DUMP_KEYWORD, true},
	    {"output", HK_DUMP_OUTPUT, HK_DUMP_INPUT, false},
	};

	bool backward = building->row.phase == HK_DUMP_BACKWARD;
	bool inner = !backward || building->row.kind == HK_DUMP_MODULE ||
		     hk_msprobe_gradients_are_of_inputs(reader->dump, name, call);

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		const json_t *list = json_object_get(call, lists[i].key);
		building->row.role = backward ? lists[i].backward : lists[i].forward;
		bool of_node = backward && !inner && !strcmp(lists[i].key, "output");
		const char *slot = lists[i].is_parameters ? "parameters"
				   : of_node		  ? HK_MSPROBE_NODE
							  : "";
		int r = list ? value_add(reader, building, list, slot, DEPTH_MAX) : 0;
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* The module that made the call NAME, or "". */
static void parent_take(const struct reader *reader, const char *name, struct building *building)
{
	struct hk_msprobe_name parent;
	const char *text = json_string_value(json_object_get(reader->parents, name));

	if (building->name.kind != HK_DUMP_API) {
		snprintf(building->of, sizeof(building->of), "%s", building->name.of);
	} else if (text && hk_msprobe_name_parse(&parent, text) && parent.kind == HK_DUMP_MODULE) {
		snprintf(building->of, sizeof(building->of), "%s", parent.name);
	}
}

/* Remembers a forward call, or finds that of a backward call. */
static int forward_link(struct reader *reader, struct building *building)
{
	char key[2 * HK_MSPROBE_NAME_BYTES];
	struct hk_dump_row *row = &building->row;

	snprintf(key, sizeof(key), "%d %s %u", (int)row->kind, row->name, row->number);
	row->forward_sequence = row->sequence;
	if (row->phase == HK_DUMP_FORWARD) {
		return json_object_set_new(reader->calls, key,
					   json_integer((json_int_t)row->sequence)) < 0
			   ? -ENOMEM
			   : 0;
	}
	const json_t *forward = json_object_get(reader->calls, key);
	if (forward) {
		row->forward_sequence = (uint64_t)json_integer_value(forward);
	}
	return 0;
}

static int call_add(struct reader *reader, const char *name, const json_t *call)
{
	struct building building = {.of = ""};
	const json_t *stack = json_object_get(reader->stacks, name);

	if (!json_is_object(call) || !hk_msprobe_name_parse(&building.name, name)) {
		reader->strange++;
		return 0;
	}
	parent_take(reader, name, &building);
	building.row = (struct hk_dump_row){.step = reader->step,
					    .kind = building.name.kind,
					    .phase = building.name.phase,
					    .name = building.name.name,
					    .of = building.of,
					    .number = building.name.number,
					    .stack = stack ? (uint32_t)json_integer_value(stack)
							   : HK_DUMP_NONE};
	if (building.name.kind == HK_DUMP_STATE) {
		return gradients_add(reader, &building, call);
	}
	building.row.sequence = (*reader->sequence)++;
	int r = forward_link(reader, &building);
	return r < 0 ? r : lists_add(reader, &building, name, call);
}

/* ---- the directory ---- */

/* Loads the file NAME of the directory; NULL with REASON. */
static json_t *load(const struct reader *reader, const char *name,
		    char reason[HK_ARRAY_REASON_BYTES])
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/%s", reader->directory, name);

	if (length < 0 || length >= PATH_MAX) {
		hk_array_refuse(reason, "%s", strerror(ENAMETOOLONG));
		return NULL;
	}
	return hk_json_text_load(path, reason);
}

static int calls_add(struct reader *reader)
{
	const char *name;
	json_t *call;

	json_object_foreach (json_object_get(reader->dump, "data"), name, call) {
		int r = call_add(reader, name, call);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int rows_read(struct reader *reader, char reason[HK_ARRAY_REASON_BYTES])
{
	char ignored[HK_ARRAY_REASON_BYTES];

	reader->dump = load(reader, "dump.json", reason);
	if (!json_is_object(json_object_get(reader->dump, "data"))) {
		return reader->dump ? hk_array_refuse(reason, "dump.json has no \"data\"")
				    : -EINVAL;
	}
	reader->parents = load(reader, "construct.json", ignored);
	json_t *stacks = load(reader, "stack.json", ignored);
	int r = stacks_read(reader, stacks);
	json_decref(stacks);
	if (r == 0) {
		r = calls_add(reader);
	}
	if (r < 0) {
		snprintf(reason, HK_ARRAY_REASON_BYTES, "%s", strerror(-r));
	}
	return r;
}

int hk_msprobe_rows_read(struct hk_foreign_rows *rows, const char *directory, uint64_t step,
			 uint64_t *sequence, char reason[HK_ARRAY_REASON_BYTES])
{
	struct reader reader = {.rows = rows,
				.directory = directory,
				.step = step,
				.sequence = sequence,
				.stacks = json_object(),
				.calls = json_object()};
	int r = reader.stacks && reader.calls ? rows_read(&reader, reason) : -ENOMEM;

	if (reader.strange > 0) {
		char damage[HK_ARRAY_REASON_BYTES];
		snprintf(damage, sizeof(damage), "%zu entries of %s/dump.json are not understood",
			 reader.strange, directory);
		hk_foreign_rows_damaged(rows, damage);
	}
	json_decref(reader.dump);
	json_decref(reader.stacks);
	json_decref(reader.parents);
	json_decref(reader.calls);
	return r;
}
