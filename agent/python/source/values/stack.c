#include "stack.h"

#include <Python.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "python/source/beyond.h"
#include "session.h"

#define FRAMES_MAX 64u
#define TEXT_BYTES 512
#define STACKS_MAX (1u << 16)

/* A code object and where in it the frame is. */
struct place {
	PyObject *code;
	long instruction;
};

/* Open addressing by the hash of all places. The code objects are kept, so that no address is
 * another one's later. */
struct known {
	uint64_t hash;
	uint32_t number;
};

static struct known *table;
static uint32_t many, room; /* room: a power of two */
static PyObject *codes;	    /* {address: code object} */

static long number_of(PyObject *object, const char *name)
{
	PyObject *value = PyObject_GetAttrString(object, name);
	long number = value ? PyLong_AsLong(value) : -1;

	PyErr_Clear();
	Py_XDECREF(value);
	return number;
}

/* New references, or NULL. */
static PyObject *code_of(PyObject *frame)
{
	return hk_frame_code ? hk_frame_code(frame) : PyObject_GetAttrString(frame, "f_code");
}

static PyObject *back_of(PyObject *frame)
{
	if (PyFrame_GetBack) {
		return PyFrame_GetBack(frame);
	}
	PyObject *back = PyObject_GetAttrString(frame, "f_back");

	if (back == Py_None) {
		Py_CLEAR(back);
	}
	return back;
}

static long instruction_of(PyObject *frame)
{
	return PyFrame_GetLasti ? PyFrame_GetLasti(frame) : number_of(frame, "f_lasti");
}

/* Takes the places of all frames, at most FRAMES_MAX. Returns how many; their code is owned. */
static uint32_t take(struct place places[FRAMES_MAX], uint64_t *ret_hash)
{
	PyObject *frame = (PyObject *)PyEval_GetFrame(); /* borrowed */
	uint32_t depth = 0;
	uint64_t hash = 14695981039346656037u;

	Py_XINCREF(frame);
	while (frame && depth < FRAMES_MAX) {
		struct place *place = &places[depth];
		place->code = code_of(frame);
		place->instruction = instruction_of(frame);
		hash = (hash ^ (uint64_t)(uintptr_t)place->code) * 0x9e3779b97f4a7c15u;
		hash = (hash ^ (hash >> 29) ^ (uint64_t)place->instruction) * 0xbf58476d1ce4e5b9u;
		depth += place->code ? 1 : 0;
		PyObject *back = back_of(frame);
		Py_DECREF(frame);
		frame = back;
	}
	Py_XDECREF(frame);
	PyErr_Clear();
	*ret_hash = hash | 1;
	return depth;
}

static void give_back(struct place *places, uint32_t depth)
{
	for (uint32_t i = 0; i < depth; i++) {
		Py_DECREF(places[i].code);
	}
}

/* The place of HASH in the table, which may be empty; NULL without memory. */
static struct known *find(uint64_t hash)
{
	uint32_t index = (uint32_t)(hash >> 32) & (room - 1);

	if (!table) {
		return NULL;
	}
	while (table[index].hash && table[index].hash != hash) {
		index = (index + 1) & (room - 1);
	}
	return &table[index];
}

static void grow(void)
{
	struct known *before = table;
	uint32_t room_before = room;

	if (table && 2 * many < room) {
		return;
	}
	room = room ? 2 * room : 1024;
	table = calloc(room, sizeof(*table));
	if (!table) {
		table = before;
		room = room_before;
		return;
	}
	for (uint32_t i = 0; i < room_before; i++) {
		if (before[i].hash) {
			*find(before[i].hash) = before[i];
		}
	}
	free(before);
}

static void keep(PyObject *code)
{
	PyObject *address = PyLong_FromVoidPtr(code);

	if (codes && address) {
		PyDict_SetItem(codes, address, code);
	}
	Py_XDECREF(address);
}

/* Keeps the code objects and writes "path:line function" of the frames that are open, as places
 * were taken of. Returns the writer's number. */
static uint32_t ask_writer(const struct place *places, uint32_t depth)
{
	static char texts[FRAMES_MAX][TEXT_BYTES]; /* guarded by the GIL */
	const char *frames[FRAMES_MAX];
	PyObject *frame = (PyObject *)PyEval_GetFrame();
	uint32_t i = 0;

	codes = codes ? codes : PyDict_New();
	Py_XINCREF(frame);
	for (; frame && i < depth; i++) {
		PyObject *file = PyObject_GetAttrString(places[i].code, "co_filename");
		PyObject *name = PyObject_GetAttrString(places[i].code, "co_name");
		snprintf(texts[i], TEXT_BYTES, "%s:%ld %s", hk_values_text(file),
			 number_of(frame, "f_lineno"), hk_values_text(name));
		frames[i] = texts[i];
		Py_XDECREF(file);
		Py_XDECREF(name);
		keep(places[i].code);
		PyObject *back = back_of(frame);
		Py_DECREF(frame);
		frame = back;
	}
	Py_XDECREF(frame);
	PyErr_Clear();
	return hk_dump_writer_stack(hk_values.writer, frames, i);
}

uint32_t hk_stack_here(void)
{
	struct place places[FRAMES_MAX];
	uint64_t hash = 0;
	uint32_t depth = hk_values.writer ? take(places, &hash) : 0, number = HK_DUMP_NONE;

	grow();
	struct known *known = depth > 0 ? find(hash) : NULL;

	if (known && known->hash) {
		number = known->number;
	} else if (known && many < STACKS_MAX) {
		number = ask_writer(places, depth);
		*known = (struct known){hash, number};
		many++;
	}
	give_back(places, depth);
	return number;
}

void hk_stack_reset(void)
{
	free(table);
	table = NULL;
	many = room = 0;
	Py_CLEAR(codes);
}
