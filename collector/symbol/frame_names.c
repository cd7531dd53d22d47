#include "collector/symbol/frame_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/model/stacks.h"

uint32_t *hk_frame_names_entry(const Hk__Process *state, uint32_t number)
{
	size_t index = number - 1u, place = index % HK_STACKS_PART_FRAMES;

	if (number == 0 || index / HK_STACKS_PART_FRAMES >= state->n_stack_frames) {
		return NULL;
	}
	Hk__StackFrames *part = state->stack_frames[index / HK_STACKS_PART_FRAMES];
	return place < part->n_name ? &part->name[place] : NULL;
}

/* Whether frame INDEX of PART lies in a file, or in generated code. */
static bool has_name(const Hk__Process *state, const Hk__StackFrames *part, size_t index)
{
	uint32_t number = part->object[index];

	/* Objects come in the order of their numbers. */
	return number == 0 ||
	       (number <= state->n_stack_objects && *state->stack_objects[number - 1]->path == '/');
}

int64_t hk_frame_names_extend(Hk__Process *state)
{
	int64_t added = 0;

	for (size_t i = 0; i < state->n_stack_frames; i++) {
		Hk__StackFrames *part = state->stack_frames[i];
		if (part->n_name >= part->n_address) {
			continue;
		}
		uint32_t *name = realloc(part->name, part->n_address * sizeof(*name));
		if (!name) {
			return -ENOMEM;
		}
		part->name = name;
		for (size_t at = part->n_name; at < part->n_address; at++) {
			bool pending = has_name(state, part, at);
			name[at] = pending ? HK_STACKS_NAME_PENDING : 0;
			added += pending;
		}
		part->n_name = part->n_address;
	}
	return added;
}

bool hk_frame_names_is_pending(const Hk__Process *state, uint32_t number, uint32_t *ret_object,
			       uint64_t *ret_address)
{
	const uint32_t *entry = hk_frame_names_entry(state, number);

	if (!entry || *entry != HK_STACKS_NAME_PENDING) {
		return false;
	}
	const Hk__StackFrames *part = state->stack_frames[(number - 1u) / HK_STACKS_PART_FRAMES];
	*ret_object = part->object[(number - 1u) % HK_STACKS_PART_FRAMES];
	*ret_address = part->address[(number - 1u) % HK_STACKS_PART_FRAMES];
	return true;
}

bool hk_frame_names_retry(Hk__Process *state)
{
	bool any = false;

	for (size_t i = 0; i < state->n_stack_frames; i++) {
		Hk__StackFrames *part = state->stack_frames[i];
		for (size_t k = 0; k < part->n_name; k++) {
			if (part->object[k] == 0 && part->name[k] == 0) {
				part->name[k] = HK_STACKS_NAME_PENDING;
				any = true;
			}
		}
	}
	return any;
}

/* ---- texts ---- */

static size_t bytes_of(char **texts, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++) {
		bytes += strlen(texts[i]);
	}
	return bytes;
}

size_t hk_frame_names_bytes(const Hk__Process *state)
{
	size_t bytes = 0;

	for (size_t i = 0; i < state->n_stack_frames; i++) {
		bytes += bytes_of(state->stack_frames[i]->names, state->stack_frames[i]->n_names);
	}
	for (size_t i = 0; i < state->n_stack_places; i++) {
		bytes += bytes_of(state->stack_places[i]->texts, state->stack_places[i]->n_texts);
	}
	return bytes;
}

/* A list of different texts in a message. */
struct texts {
	char ***list;
	size_t *count;
	size_t *bytes; /* of all lists of the process */
};

/* Sets *ret_place to the place of TEXT in the list, from 1 on, or to 0 if TEXT is empty or has no
 * room. */
static int place_text(const struct texts *texts, const char *text, uint32_t *ret_place)
{
	size_t length = strlen(text);

	*ret_place = 0;
	for (size_t i = *texts->count; i > 0 && length > 0; i--) {
		if (strcmp((*texts->list)[i - 1], text) == 0) {
			*ret_place = (uint32_t)i;
			return 0;
		}
	}
	if (length == 0 || *texts->bytes + length > HK_FRAME_NAMES_BYTES_MOST) {
		return 0;
	}
	char **list = reallocarray(*texts->list, *texts->count + 1, sizeof(*list));
	char *copy = list ? strdup(text) : NULL;
	*texts->list = list ? list : *texts->list;
	if (!copy) {
		return -ENOMEM;
	}
	list[(*texts->count)++] = copy;
	*texts->bytes += length;
	*ret_place = (uint32_t)*texts->count;
	return 0;
}

/* ---- places in the source ---- */

/* Returns the places of PART, which it makes if need be, or NULL without memory. */
static Hk__StackPlaces *places_of(Hk__Process *state, uint32_t part)
{
	for (size_t i = 0; i < state->n_stack_places; i++) {
		if (state->stack_places[i]->part == part) {
			return state->stack_places[i];
		}
	}
	Hk__StackPlaces **list =
	    reallocarray(state->stack_places, state->n_stack_places + 1, sizeof(*list));
	Hk__StackPlaces *places = list ? malloc(sizeof(*places)) : NULL;
	state->stack_places = list ? list : state->stack_places;
	if (places) {
		hk__stack_places__init(places);
		places->part = part;
		list[state->n_stack_places++] = places;
	}
	return places;
}

/* Makes room for MORE entries at AT of a column with COUNT. */
static int widen(uint32_t **column, size_t count, size_t at, size_t more)
{
	uint32_t *larger = reallocarray(*column, count + more, sizeof(*larger));

	if (!larger) {
		return -ENOMEM;
	}
	*column = larger;
	memmove(larger + at + more, larger + at, (count - at) * sizeof(*larger));
	return 0;
}

/* Makes room for MORE entries of frame INDEX. Sets *ret_at to the first. */
static int make_room(Hk__StackPlaces *places, uint32_t index, size_t more, size_t *ret_at)
{
	uint32_t **columns[] = {&places->frame, &places->function, &places->file, &places->line};
	size_t at = places->n_frame;
	int r = 0;

	while (at > 0 && places->frame[at - 1] >= index) {
		at--;
	}
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]) && r == 0; i++) {
		r = widen(columns[i], places->n_frame, at, more);
	}
	if (r == 0) {
		places->n_frame += more;
		places->n_function = places->n_file = places->n_line = places->n_frame;
	}
	*ret_at = at;
	return r;
}

/* Writes the places of FRAME, whose last one is the frame's own function. */
static int set_places(Hk__Process *state, uint32_t number, const Hk__SymbolFrame *frame,
		      size_t *bytes)
{
	uint32_t index = (number - 1u) % HK_STACKS_PART_FRAMES;
	Hk__StackPlaces *places = places_of(state, (number - 1u) / HK_STACKS_PART_FRAMES);
	struct texts texts = {.bytes = bytes};
	size_t at;

	if (!places) {
		return -ENOMEM;
	}
	texts.list = &places->texts;
	texts.count = &places->n_texts;
	int r = make_room(places, index, frame->n_place, &at);
	for (size_t i = 0; i < frame->n_place && r >= 0; i++, at++) {
		const Hk__SymbolPlace *from = frame->place[i];
		bool own = i + 1 == frame->n_place;
		places->frame[at] = index;
		places->line[at] = from->line;
		places->function[at] = places->file[at] = 0;
		r = place_text(&texts, from->file, &places->file[at]);
		r = r < 0 || own ? r : place_text(&texts, from->function, &places->function[at]);
	}
	return r;
}

int hk_frame_names_set(Hk__Process *state, uint32_t number, const Hk__SymbolFrame *frame,
		       size_t *bytes)
{
	uint32_t *entry = hk_frame_names_entry(state, number);

	if (!entry || frame->n_place == 0 || frame->n_place >= HK_STACKS_FUNCTIONS_MOST) {
		return 0;
	}
	Hk__StackFrames *part = state->stack_frames[(number - 1u) / HK_STACKS_PART_FRAMES];
	const struct texts texts = {&part->names, &part->n_names, bytes};
	const Hk__SymbolPlace *own = frame->place[frame->n_place - 1];
	int r = place_text(&texts, own->function, entry);
	return r < 0 || (frame->n_place == 1 && !*own->file)
		   ? r
		   : set_places(state, number, frame, bytes);
}
