/* The Python frames of an answer, merged with the native ones. In the handler. */
#include <stddef.h>

#include "agent/record/process.h"
#include "agent/stack/answer.h"
#include "agent/stack/merge.h"
#include "agent/stack/python_code.h"
#include "agent/stack/walk.h"

#define LOCK_TRIES 200u

static_assert(HK_ASK_PYTHON_FRAMES == HK_PYTHON_FRAMES, "all that a walk finds");

/* One for each request. The thread that answers it is its only user. */
static struct answering {
	const void *segment; /* that `room` is in */
	struct hk_ask_python *room;
	uint32_t used; /* bytes of the room's texts */
	struct hk_python_item items[HK_PYTHON_ITEMS];
	uint64_t code[HK_ASK_PYTHON_FRAMES]; /* of the frames written so far */
	struct hk_merged merged;
} answering[HK_ASKS];

/* ---- room ---- */

/* Takes a block of the segment for the answers to one request, unless it has one. */
static enum hk_ask_python_missing find_room(struct answering *own)
{
	const void *segment = hk_process.writer.header;

	if (own->segment == segment) {
		return HK_ASK_PYTHON_THERE;
	}
	if (!hk_process_try_lock(LOCK_TRIES)) {
		return HK_ASK_PYTHON_BUSY;
	}
	own->room = hk_writer_ask(&hk_process.writer);
	hk_process_unlock();
	own->segment = own->room ? segment : NULL;
	return own->room ? HK_ASK_PYTHON_THERE : HK_ASK_PYTHON_FULL;
}

/* ---- texts ---- */

static bool is_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static uint32_t bytes_of(const char *text)
{
	uint32_t bytes = 1;

	while (text[bytes - 1]) {
		bytes++;
	}
	return bytes;
}

/* Returns the place of the text that follows the used ones: its own, or that of the same file name
 * in one of the first COUNT frames. */
static uint32_t keep(struct answering *own, uint32_t count)
{
	const struct hk_ask_python *room = own->room;
	const char *text = room->text + own->used;
	uint32_t at = own->used;

	for (uint32_t i = count; i-- > 0;) {
		if (room->frame[i].file && is_same(room->text + room->frame[i].file, text)) {
			return room->frame[i].file;
		}
	}
	own->used += bytes_of(text);
	return at;
}

static bool has_room(const struct answering *own)
{
	return HK_ASK_TEXT_BYTES - own->used >= HK_PYTHON_TEXT_BYTES;
}

/* ---- frames ---- */

/* Describes the function CODE in the frame behind the first COUNT. */
static void describe(struct answering *own, const struct hk_interpreter *interpreter, uint64_t code,
		     uint32_t count)
{
	struct hk_ask_python *room = own->room;
	struct hk_ask_python_frame *frame = &room->frame[count];

	for (uint32_t i = count; i-- > 0;) {
		if (own->code[i] == code) {
			*frame = room->frame[i];
			return;
		}
	}
	*frame = (struct hk_ask_python_frame){.first_line =
						  hk_python_code_first_line(interpreter, code)};
	if (has_room(own) &&
	    hk_python_code_file(interpreter, code, room->text + own->used, HK_PYTHON_SIGNAL)) {
		frame->file = keep(own, count);
	}
	if (has_room(own) &&
	    hk_python_code_name(interpreter, code, room->text + own->used, HK_PYTHON_SIGNAL)) {
		frame->name = own->used;
		own->used += bytes_of(room->text + own->used);
	}
}

static uint64_t write_frame(struct answering *own, const struct hk_interpreter *interpreter,
			    const struct hk_python_item *item, uint32_t count)
{
	describe(own, interpreter, item->code, count);
	own->code[count] = item->code;
	own->room->frame[count].line =
	    hk_python_code_line(interpreter, item->code, item->place, HK_PYTHON_SIGNAL);
	return HK_ASK_PYTHON | count;
}

static void write_frames(struct answering *own, const struct hk_interpreter *interpreter,
			 const struct hk_thread_walk *walk, struct hk_ask *ask)
{
	const struct hk_merged *merged = &own->merged;
	uint32_t count = merged->count < HK_ASK_FRAMES ? merged->count : HK_ASK_FRAMES, python = 0;

	own->room->text[0] = '\0';
	own->used = 1;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t from = merged->frame[i];
		if (from & HK_MERGED_PYTHON) {
			const struct hk_python_item *item = &own->items[from & ~HK_MERGED_PYTHON];
			ask->address[i] = write_frame(own, interpreter, item, python++);
		} else {
			ask->address[i] = walk->address[from];
		}
	}
	ask->count = count;
	ask->end = count < merged->count ? HK_WALK_DEEP : walk->end;
	ask->python_block = hk_writer_block_of(&hk_process.writer, own->room);
	ask->python_count = python;
}

/* Returns whether the interpreter's evaluation loop is on the stack WALK. Its frame cannot be found
 * during the first and the last few instructions. */
static bool evaluates(const struct hk_interpreter *interpreter, const struct hk_thread_walk *walk)
{
	for (uint32_t i = 0; interpreter && i < walk->count; i++) {
		if (hk_span_holds(interpreter->evaluate, walk->address[i])) {
			return true;
		}
	}
	return false;
}

bool hk_answer_python(uint32_t number, const struct hk_thread_walk *walk, struct hk_ask *ask)
{
	struct answering *own = &answering[number];
	const struct hk_interpreter *interpreter = hk_interpreter_get();
	bool deep;

	ask->python_block = ask->python_count = ask->python_missing = 0;
	uint32_t count = interpreter ? hk_python_items(own->items, HK_PYTHON_SIGNAL, &deep) : 0;
	if (count == 0) {
		ask->python_missing = evaluates(interpreter, walk) ? HK_ASK_PYTHON_UNSEEN : 0;
		return false;
	}
	ask->python_missing = find_room(own);
	if (ask->python_missing != HK_ASK_PYTHON_THERE) {
		return false;
	}
	hk_merge(walk, interpreter, own->items, count, deep, &own->merged);
	write_frames(own, interpreter, walk, ask);
	ask->end = deep ? HK_WALK_DEEP : ask->end;
	return true;
}
