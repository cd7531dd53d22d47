#include "collector/process/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collector/model/fields.h"
#include "collector/process/python_functions.h"
#include "report/model/stacks.h"

static int append(void ***list, size_t *count, void *element)
{
	void **larger = realloc(*list, (*count + 1) * sizeof(**list));

	if (!larger) {
		return -ENOMEM;
	}
	*list = larger;
	larger[(*count)++] = element;
	return 0;
}

/* ---- objects ---- */

int hk_stacks_add_object(Hk__Process *state, uint32_t number, const struct hk_stack_object *from,
			 const char *path)
{
	Hk__StackObject *object = malloc(sizeof(*object));

	if (!object) {
		return -ENOMEM;
	}
	hk__stack_object__init(object);
	object->number = number;
	int r = hk_field_set_string(&object->path, path);
	if (r == 0 && from->build_id_bytes > 0) {
		object->build_id.data = malloc(from->build_id_bytes);
		r = object->build_id.data ? 0 : -ENOMEM;
	}
	if (object->build_id.data) {
		object->build_id.len = from->build_id_bytes;
		memcpy(object->build_id.data, from->build_id, object->build_id.len);
	}
	if (r == 0) {
		r = append((void ***)&state->stack_objects, &state->n_stack_objects, object);
	}
	if (r < 0) {
		hk__stack_object__free_unpacked(object, NULL);
	}
	return r;
}

static int refresh_objects(Hk__Process *state, struct hk_reader *reader)
{
	struct hk_stack_object object;
	uint32_t number = (uint32_t)state->n_stack_objects;
	const char *path;
	int r;

	while ((r = hk_reader_next_object(reader, &number, &object, &path)) > 0) {
		r = hk_stacks_add_object(state, number, &object, path);
		if (r < 0) {
			return r;
		}
	}
	return r;
}

/* ---- frames ---- */

uint32_t hk_stacks_frames(const Hk__Process *state)
{
	size_t parts = state->n_stack_frames;

	return parts == 0 ? 0
			  : (uint32_t)((parts - 1) * HK_STACKS_PART_FRAMES +
				       state->stack_frames[parts - 1]->n_address);
}

/* Makes a part with room for all of its frames. */
static int add_part(Hk__Process *state)
{
	Hk__StackFrames *part = malloc(sizeof(*part));

	if (!part) {
		return -ENOMEM;
	}
	hk__stack_frames__init(part);
	part->part = (uint32_t)state->n_stack_frames;
	part->caller = calloc(HK_STACKS_PART_FRAMES, sizeof(*part->caller));
	part->object = calloc(HK_STACKS_PART_FRAMES, sizeof(*part->object));
	part->address = calloc(HK_STACKS_PART_FRAMES, sizeof(*part->address));
	int r = part->caller && part->object && part->address
		    ? append((void ***)&state->stack_frames, &state->n_stack_frames, part)
		    : -ENOMEM;
	if (r < 0) {
		hk__stack_frames__free_unpacked(part, NULL);
	}
	return r;
}

/* A part that was read from a file, or sent, has only the room that it needs. */
static int widen(Hk__StackFrames *part)
{
	uint32_t *caller = realloc(part->caller, HK_STACKS_PART_FRAMES * sizeof(*caller));
	part->caller = caller ? caller : part->caller;
	uint32_t *object = realloc(part->object, HK_STACKS_PART_FRAMES * sizeof(*object));
	part->object = object ? object : part->object;
	uint64_t *address = realloc(part->address, HK_STACKS_PART_FRAMES * sizeof(*address));
	part->address = address ? address : part->address;
	return caller && object && address ? 0 : -ENOMEM;
}

int hk_stacks_add_frame(Hk__Process *state, const struct hk_stack_frame *frame)
{
	uint32_t count = hk_stacks_frames(state);
	int r = count % HK_STACKS_PART_FRAMES == 0 ? add_part(state) : 0;

	if (r < 0) {
		return r;
	}
	Hk__StackFrames *part = state->stack_frames[count / HK_STACKS_PART_FRAMES];
	part->caller[part->n_caller++] = frame->caller;
	part->object[part->n_object++] = frame->object;
	part->address[part->n_address++] = frame->address;
	return 0;
}

static int refresh_frames(Hk__Process *state, struct hk_reader *reader)
{
	struct hk_stack_frame frame;
	uint32_t number = hk_stacks_frames(state);
	int r;

	if (number % HK_STACKS_PART_FRAMES != 0) {
		r = widen(state->stack_frames[state->n_stack_frames - 1]);
		if (r < 0) {
			return r;
		}
	}
	while ((r = hk_reader_next_frame(reader, &number, &frame)) > 0) {
		r = hk_stacks_add_frame(state, &frame);
		if (r < 0) {
			return r;
		}
	}
	return r;
}

int hk_stacks_refresh(Hk__Process *state, struct hk_reader *reader)
{
	if (!hk_stacks_valid(state)) {
		return 0;
	}
	int r = refresh_frames(state, reader);

	/* The program writes an object before frames in it. Read later, they are all there. */
	r = r < 0 ? r : refresh_objects(state, reader);
	return r < 0 ? r : hk_python_functions_refresh(state, reader);
}
