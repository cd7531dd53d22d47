#include "report/model/stacks.h"

#include <stdint.h>
#include <stdio.h>

#include "ring/segment.h"

static bool functions_are_valid(const Hk__Process *process)
{
	for (size_t i = 0; i < process->n_python_functions; i++) {
		const Hk__PythonFunctions *part = process->python_functions[i];
		bool last = i + 1 == process->n_python_functions;
		if (part->part != i || part->n_file != part->n_name ||
		    part->n_first_line != part->n_name || part->n_name == 0 ||
		    part->n_name > HK_STACKS_PART_FRAMES ||
		    (!last && part->n_name < HK_STACKS_PART_FRAMES)) {
			return false;
		}
	}
	return true;
}

static bool places_are_valid(const Hk__Process *process)
{
	for (size_t i = 0; i < process->n_stack_places; i++) {
		const Hk__StackPlaces *places = process->stack_places[i];
		if (places->n_function != places->n_frame || places->n_file != places->n_frame ||
		    places->n_line != places->n_frame) {
			return false;
		}
	}
	return true;
}

bool hk_stacks_valid(const Hk__Process *process)
{
	for (size_t i = 0; i < process->n_stack_frames; i++) {
		const Hk__StackFrames *part = process->stack_frames[i];
		bool last = i + 1 == process->n_stack_frames;
		if (part->part != i || part->n_caller != part->n_address ||
		    part->n_object != part->n_address || part->n_name > part->n_address ||
		    part->n_address > HK_STACKS_PART_FRAMES || part->n_address == 0 ||
		    (!last && part->n_address < HK_STACKS_PART_FRAMES)) {
			return false;
		}
	}
	return functions_are_valid(process) && places_are_valid(process);
}

static const char *path_of(const Hk__Process *process, uint32_t number)
{
	/* Objects come in the order of their numbers. */
	if (number == 0 || number > process->n_stack_objects ||
	    process->stack_objects[number - 1]->number != number) {
		return "";
	}
	return process->stack_objects[number - 1]->path;
}

static const char *name_of(const Hk__StackFrames *part, size_t place)
{
	uint32_t name = place < part->n_name ? part->name[place] : 0;

	return name > 0 && name <= part->n_names ? part->names[name - 1] : "";
}

/* Sets what FRAME, of a Python function, has of it. */
static void set_function(const Hk__Process *process, struct hk_stacks_frame *frame)
{
	uint32_t index = frame->object - HK_STACKS_OBJECT_PYTHON - 1u;
	size_t place = index % HK_STACKS_PART_FRAMES, number = index / HK_STACKS_PART_FRAMES;

	frame->path = frame->name = "";
	if (frame->object == HK_STACKS_OBJECT_PYTHON || number >= process->n_python_functions ||
	    place >= process->python_functions[number]->n_name) {
		return;
	}
	const Hk__PythonFunctions *part = process->python_functions[number];
	uint32_t file = part->file[place];
	frame->path = file > 0 && file <= part->n_files ? part->files[file - 1] : "";
	frame->name = part->name[place];
	frame->first_line = part->first_line[place];
}

bool hk_stacks_frame(const Hk__Process *process, uint32_t number, struct hk_stacks_frame *ret_frame)
{
	size_t index = number - 1u, place = index % HK_STACKS_PART_FRAMES;

	if (number == 0 || index / HK_STACKS_PART_FRAMES >= process->n_stack_frames) {
		return false;
	}
	const Hk__StackFrames *part = process->stack_frames[index / HK_STACKS_PART_FRAMES];
	if (place >= part->n_address) {
		return false;
	}
	uint32_t caller = part->caller[place], object = part->object[place];
	*ret_frame = (struct hk_stacks_frame){
	    .caller = caller < number ? caller : 0,
	    .object = object,
	    .address = part->address[place],
	    .path = object == HK_STACKS_OBJECT_END ? "" : path_of(process, object),
	    .name = name_of(part, place),
	};
	if (hk_stacks_is_python(ret_frame)) {
		set_function(process, ret_frame);
	}
	return true;
}

bool hk_stacks_without_python(const Hk__Process *process, char *text, size_t size)
{
	static const char *const reasons[] = {
	    [HK_PYTHON_UNKNOWN] = "the structures of this version are not known",
	    [HK_PYTHON_FREE_THREADED] = "it is a free-threaded build",
	    [HK_PYTHON_MISFIT] = "its exported data does not fit this version",
	};
	uint64_t state = process->python >> 32;
	uint32_t version = (uint32_t)process->python;

	if (state == HK_PYTHON_NONE || state == HK_PYTHON_READ) {
		return false;
	}
	bool known = state < sizeof(reasons) / sizeof(reasons[0]);
	const char *reason = known ? reasons[state] : "the reason is unknown to this version";
	if (version) {
		snprintf(text, size, "no frames of Python %u.%u in stacks: %s", version >> 8 & 0xff,
			 version & 0xff, reason);
	} else {
		snprintf(text, size, "no frames of Python in stacks: it is older than 3.8");
	}
	return true;
}

/* ---- functions ---- */

static const Hk__StackPlaces *places_of(const Hk__Process *process, uint32_t part)
{
	for (size_t i = 0; i < process->n_stack_places; i++) {
		if (process->stack_places[i]->part == part) {
			return process->stack_places[i];
		}
	}
	return NULL;
}

/* Returns the first entry of PLACES from frame INDEX on. */
static size_t first_place(const Hk__StackPlaces *places, uint32_t index)
{
	size_t low = 0, high = places->n_frame;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (places->frame[middle] < index) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static const char *text_of(const Hk__StackPlaces *places, uint32_t text)
{
	return text > 0 && text <= places->n_texts ? places->texts[text - 1] : "";
}

size_t hk_stacks_functions(const Hk__Process *process, uint32_t number,
			   struct hk_stacks_function ret_functions[HK_STACKS_FUNCTIONS_MOST])
{
	struct hk_stacks_frame frame;
	uint32_t index = (number - 1u) % HK_STACKS_PART_FRAMES;
	size_t count = 0;

	if (!hk_stacks_frame(process, number, &frame)) {
		return 0;
	}
	if (hk_stacks_is_python(&frame)) {
		ret_functions[0] = (struct hk_stacks_function){
		    .name = frame.name,
		    .library = "",
		    .file = frame.path,
		    .line = frame.address <= UINT32_MAX ? (uint32_t)frame.address : 0};
		return 1;
	}
	const Hk__StackPlaces *places = places_of(process, (number - 1u) / HK_STACKS_PART_FRAMES);
	size_t at = places ? first_place(places, index) : 0;
	for (; places && at < places->n_frame && places->frame[at] == index &&
	       count < HK_STACKS_FUNCTIONS_MOST;
	     at++) {
		ret_functions[count++] = (struct hk_stacks_function){
		    .name = text_of(places, places->function[at]),
		    .library = frame.path,
		    .file = text_of(places, places->file[at]),
		    .line = places->line[at],
		    .inlined = true,
		};
	}
	if (count == 0) {
		ret_functions[count++] = (struct hk_stacks_function){
		    .name = frame.name, .library = frame.path, .file = ""};
	}
	struct hk_stacks_function *own = &ret_functions[count - 1];
	own->inlined = false;
	own->name = *frame.name ? frame.name : own->name;
	return count;
}
