#include "collector/stack/dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "collector/process/python_functions.h"
#include "collector/process/stacks.h"
#include "collector/stack/code_map.h"
#include "ring/segment.h"

#define AGENT "/libhookagent.so"

struct node {
	struct hk_stack_frame frame; /* the key */
	uint32_t number;
	UT_hash_handle hh;
};

struct object {
	const char *path; /* the map's; the key */
	uint32_t number;
	UT_hash_handle hh;
};

struct function {
	char *key; /* its texts and line */
	uint32_t number;
	UT_hash_handle hh;
};

struct hk_dump {
	Hk__Process *state;
	struct hk_code_map map;
	struct node *nodes;
	struct object *objects;
	struct function *functions;
};

int hk_dump_open(uint32_t pid, Hk__Process *state, struct hk_dump **ret_dump)
{
	struct hk_dump *dump = calloc(1, sizeof(*dump));

	if (!dump) {
		return -ENOMEM;
	}
	dump->state = state;
	int r = hk_code_map_read(pid, &dump->map);
	if (r < 0) {
		free(dump);
		return r;
	}
	*ret_dump = dump;
	return 0;
}

struct hk_dump *hk_dump_free(struct hk_dump *dump)
{
	struct node *node, *next_node;
	struct object *object, *next_object;
	struct function *function, *next_function;

	if (!dump) {
		return NULL;
	}
	HASH_ITER (hh, dump->nodes, node, next_node) {
		HASH_DEL(dump->nodes, node);
		free(node);
	}
	HASH_ITER (hh, dump->objects, object, next_object) {
		HASH_DEL(dump->objects, object);
		free(object);
	}
	HASH_ITER (hh, dump->functions, function, next_function) {
		HASH_DEL(dump->functions, function);
		free(function->key);
		free(function);
	}
	hk_code_map_free(&dump->map);
	free(dump);
	return NULL;
}

/* Sets the number of the object of RANGE, which it adds if it is new. */
static int object_of(struct hk_dump *dump, const struct hk_code_range *range, uint32_t *ret_number)
{
	struct hk_stack_object described = {.build_id_bytes = 0};
	struct object *object;

	HASH_FIND_STR(dump->objects, range->path, object);
	if (object) {
		*ret_number = object->number;
		return 0;
	}
	object = calloc(1, sizeof(*object));
	if (!object) {
		return -ENOMEM;
	}
	object->path = range->path;
	object->number = HASH_COUNT(dump->objects) + 1;
	if (range->build_id_bytes <= HK_BUILD_ID_BYTES) {
		described.build_id_bytes = (uint32_t)range->build_id_bytes;
		memcpy(described.build_id, range->build_id, range->build_id_bytes);
	}
	int r = hk_stacks_add_object(dump->state, object->number, &described, range->path);
	if (r < 0) {
		free(object);
		return r;
	}
	HASH_ADD_KEYPTR(hh, dump->objects, object->path, strlen(object->path), object);
	*ret_number = object->number;
	return 0;
}

/* Sets *NUMBER, that of the frame which FRAME was called by, to that of FRAME. */
static int add_frame(struct hk_dump *dump, struct hk_stack_frame frame, uint32_t *number)
{
	struct node *node;

	frame.caller = *number;
	HASH_FIND(hh, dump->nodes, &frame, sizeof(frame), node);
	if (!node) {
		node = calloc(1, sizeof(*node));
		int r = node ? hk_stacks_add_frame(dump->state, &frame) : -ENOMEM;
		if (r < 0) {
			free(node);
			return r;
		}
		node->frame = frame;
		node->number = hk_stacks_frames(dump->state);
		HASH_ADD(hh, dump->nodes, frame, sizeof(frame), node);
	}
	*number = node->number;
	return 0;
}

static bool is_agent(const struct hk_code_range *range)
{
	size_t length = strlen(range->path), tail = sizeof(AGENT) - 1;

	return length >= tail && strcmp(range->path + length - tail, AGENT) == 0;
}

static int add_address(struct hk_dump *dump, uint64_t address, uint32_t *number)
{
	const struct hk_code_range *range = hk_code_map_find(&dump->map, address);
	struct hk_stack_frame frame = {.address = address};

	if (range && is_agent(range)) {
		return 0;
	}
	if (range && *range->path) {
		int r = object_of(dump, range, &frame.object);
		if (r < 0) {
			return r;
		}
		frame.address = address - range->start + range->file;
	}
	return add_frame(dump, frame, number);
}

/* Sets the number of the Python function CODE, which it adds if it is new. */
static int function_of(struct hk_dump *dump, const struct hk_code_copy *code, uint32_t *ret_number)
{
	struct function *function;
	char *key;

	if (asprintf(&key, "%s\n%s\n%" PRIu32, code->file, code->name, code->first_line) < 0) {
		return -ENOMEM;
	}
	HASH_FIND_STR(dump->functions, key, function);
	if (function) {
		free(key);
		*ret_number = function->number;
		return 0;
	}
	function = calloc(1, sizeof(*function));
	int r = function ? hk_python_functions_add(dump->state, code, &function->number) : -ENOMEM;
	if (r < 0) {
		free(function);
		free(key);
		return r;
	}
	function->key = key;
	HASH_ADD_KEYPTR(hh, dump->functions, key, strlen(key), function);
	*ret_number = function->number;
	return 0;
}

static int add_python(struct hk_dump *dump, const struct hk_ask_python *python, uint64_t index,
		      uint32_t *number)
{
	const struct hk_ask_python_frame *from = &python->frame[index];
	const struct hk_code_copy code = {python->text + from->file, python->text + from->name,
					  from->first_line};
	uint32_t function = 0;
	int r = function_of(dump, &code, &function);

	if (r < 0) {
		return r;
	}
	const struct hk_stack_frame frame = {.object = HK_FRAME_PYTHON | function,
					     .address = from->line};
	return add_frame(dump, frame, number);
}

int hk_dump_add(struct hk_dump *dump, const struct hk_dump_stack *stack, uint32_t *ret_stack)
{
	const struct hk_stack_frame why = {.object = HK_FRAME_END, .address = stack->end};
	uint32_t number = 0;
	int r = stack->end != 0 ? add_frame(dump, why, &number) : 0;

	for (size_t i = stack->count; i > 0 && r == 0; i--) {
		uint64_t address = stack->address[i - 1], index = address - HK_ASK_PYTHON;
		r = stack->python && index < HK_ASK_PYTHON_FRAMES
			? add_python(dump, stack->python, index, &number)
			: add_address(dump, address, &number);
	}
	*ret_stack = number;
	return r;
}
