#include "walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deferred.h"
#include "scalar.h"

#define DEPTH_MAX 4
#define ITEMS_MAX 4096 /* of one container */
#define SCALAR_BYTES 192
#define METH_FAST 0x80 /* METH_FASTCALL */

struct walk {
	struct hk_record *record;
	enum hk_dump_role role;
	bool found; /* a tensor */
};

static void visit(struct walk *walk, PyObject *object, const char *slot, int depth);

static void add_tensor(struct walk *walk, PyObject *tensor, enum hk_values_class class,
		       const char *slot)
{
	struct hk_record *record = walk->record;
	struct hk_value *value = hk_record_add(record, walk->role, slot);

	walk->found = true;
	if (!value) {
		return;
	}
	value->class = class;
	if (!hk_tensor_view(tensor, class, &value->view)) {
		Py_CLEAR(value->view.owner);
		record->many--;
		return;
	}
	Py_INCREF(tensor);
	value->tensor = tensor;
	hk_record_defer(value);
	value->has_statistics =
	    !value->view.on_device && hk_record_measure(&value->view, &value->statistics);
	if (hk_values.backward && class == HK_CLASS_TENSOR) {
		value->takes_gradient = hk_tensor_edge(tensor, &value->node, &value->output);
	} else if (hk_values.backward && (value->view.flags & HK_DUMP_REQUIRES_GRAD)) {
		hk_values_leave(HK_LEFT_NO_EDGE);
	}
}

static void add_scalar(struct walk *walk, PyObject *object, const char *slot)
{
	char text[SCALAR_BYTES];

	if (!hk_values.scalars || !hk_scalar_text(object, text, sizeof(text))) {
		return;
	}
	struct hk_value *value = hk_record_add(walk->record, walk->role, slot);

	if (value) {
		value->scalar = strdup(text);
		if (!value->scalar) {
			walk->record->many--;
			hk_values_leave(HK_LEFT_MEMORY);
		}
	}
}

/* SLOT.PART, cut where it is too long. */
static void join(char name[HK_SLOT_BYTES], const char *slot, const char *part)
{
	PyOS_snprintf(name, HK_SLOT_BYTES, "%s%s%s", slot, slot[0] ? "." : "", part);
}

static void visit_items(struct walk *walk, PyObject *sequence, const char *slot, int depth)
{
	char name[HK_SLOT_BYTES];

	for (Py_ssize_t i = 0; i < PySequence_Size(sequence); i++) {
		if (i == ITEMS_MAX) {
			hk_values_leave(HK_LEFT_MANY);
			return;
		}
		PyObject *item = PySequence_GetItem(sequence, i);
		if (!item) {
			PyErr_Clear();
			return;
		}
		char number[24];
		snprintf(number, sizeof(number), "%zd", i);
		join(name, slot, number);
		visit(walk, item, name, depth);
		Py_DECREF(item);
	}
}

static void visit_dict(struct walk *walk, PyObject *dict, const char *slot, int depth)
{
	PyObject *items = PyDict_Items(dict);
	char name[HK_SLOT_BYTES];

	for (Py_ssize_t i = 0; items && i < PyList_Size(items); i++) {
		PyObject *item = PyList_GetItem(items, i); /* borrowed */
		PyObject *key = PyTuple_GetItem(item, 0);
		PyObject *text =
		    PyUnicode_Check(key) || PyLong_Check(key) ? PyObject_Str(key) : NULL;
		join(name, slot, text ? hk_values_text(text) : "?");
		Py_XDECREF(text);
		visit(walk, PyTuple_GetItem(item, 1), name, depth);
	}
	PyErr_Clear();
	Py_XDECREF(items);
}

/* The fields of a dataclass's OBJECT, as keys of a dictionary are. */
static void visit_fields(struct walk *walk, PyObject *object, const char *slot, int depth)
{
	PyObject *fields = PyObject_GetAttrString(object, "__dataclass_fields__");
	PyObject *names = fields && PyDict_Check(fields) ? PyDict_Keys(fields) : NULL;
	char name[HK_SLOT_BYTES];

	if (depth >= DEPTH_MAX) {
		hk_values_leave(HK_LEFT_DEPTH);
		Py_CLEAR(names);
	}
	for (Py_ssize_t i = 0; names && i < PyList_Size(names); i++) {
		PyObject *key = PyList_GetItem(names, i); /* borrowed */
		PyObject *value = PyObject_GenericGetAttr(object, key);

		if (value) {
			join(name, slot, hk_values_text(key));
			visit(walk, value, name, depth + 1);
		}
		PyErr_Clear();
		Py_XDECREF(value);
	}
	PyErr_Clear();
	Py_XDECREF(names);
	Py_XDECREF(fields);
}

static void visit_container(struct walk *walk, PyObject *object, const char *slot, int depth)
{
	char text[SCALAR_BYTES];

	if (depth >= DEPTH_MAX) {
		hk_values_leave(HK_LEFT_DEPTH);
	} else if (PyDict_Check(object)) {
		visit_dict(walk, object, slot, depth + 1);
	} else if (slot[0] && hk_scalar_text(object, text, sizeof(text))) {
		add_scalar(walk, object, slot);
	} else {
		visit_items(walk, object, slot, depth + 1);
	}
}

static void visit(struct walk *walk, PyObject *object, const char *slot, int depth)
{
	PyTypeObject *type = Py_TYPE(object);

	if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type ||
	    type == &PyUnicode_Type || object == Py_None) {
		add_scalar(walk, object, slot[0] ? slot : "0");
		return;
	}
	if (PyTuple_Check(object) || PyList_Check(object) || PyDict_Check(object)) {
		visit_container(walk, object, slot, depth);
		return;
	}
	enum hk_values_class class = hk_tensor_class(object);

	if (class == HK_CLASS_TENSOR || class == HK_CLASS_READ) {
		add_tensor(walk, object, class, slot[0] ? slot : "0");
	} else if (class == HK_CLASS_WRAPPER) {
		hk_values_leave(HK_LEFT_WRAPPER);
		walk->found = true;
	} else if (class == HK_CLASS_FIELDS) {
		visit_fields(walk, object, slot, depth);
	} else if (class == HK_CLASS_SCALAR) {
		add_scalar(walk, object, slot[0] ? slot : "0");
	}
}

/* Visits POSITION of the call. */
static void visit_at(struct walk *walk, PyObject *object, Py_ssize_t position)
{
	char slot[24];

	snprintf(slot, sizeof(slot), "%zd", position);
	visit(walk, object, slot, 0);
}

static void visit_keyword(struct walk *walk, PyObject *name, PyObject *object)
{
	walk->role = HK_DUMP_KEYWORD;
	visit(walk, object, hk_values_text(name), 0);
	walk->role = HK_DUMP_INPUT;
}

/* COUNT arguments from FIRST of ITEMS on, and behind them those of the keywords NAMES. */
static void visit_array(struct walk *walk, PyObject *const *items, Py_ssize_t count,
			Py_ssize_t first, PyObject *names, Py_ssize_t position)
{
	Py_ssize_t keywords = names ? PyTuple_Size(names) : 0;

	for (Py_ssize_t i = first; i < count; i++) {
		visit_at(walk, items[i], position++);
	}
	for (Py_ssize_t i = 0; i < keywords; i++) {
		visit_keyword(walk, PyTuple_GetItem(names, i), items[count + i]);
	}
}

static void visit_tuple(struct walk *walk, PyObject *tuple, PyObject *keywords)
{
	PyObject *name, *object;
	Py_ssize_t place = 0;

	for (Py_ssize_t i = 0; i < PyTuple_Size(tuple); i++) {
		visit_at(walk, PyTuple_GetItem(tuple, i), i + 1);
	}
	while (keywords && PyDict_Next(keywords, &place, &name, &object)) {
		visit_keyword(walk, name, object);
	}
}

static void visit_method(struct walk *walk, int flags, const struct hk_api_words *words)
{
	PyObject *names = flags & METH_KEYWORDS ? words->fourth : NULL;

	if (words->self) {
		visit_at(walk, words->self, 0);
	}
	if (flags & METH_O) {
		visit_at(walk, words->second, 1);
	} else if (flags & METH_VARARGS) {
		visit_tuple(walk, words->second,
			    flags & METH_KEYWORDS ? (PyObject *)words->third : NULL);
	} else if (flags & METH_FAST) {
		visit_array(walk, words->second, (Py_ssize_t)words->third, 0, names, 1);
	}
}

void hk_walk_arguments(struct hk_record *record, const struct hk_api *api,
		       const struct hk_api_words *words, bool skip)
{
	struct walk walk = {record, HK_DUMP_INPUT, false};

	if (api->kind == HK_API_METHOD) {
		visit_method(&walk, api->flags, words);
	} else {
		Py_ssize_t count = (Py_ssize_t)(words->third & (uintptr_t)PY_SSIZE_T_MAX);
		visit_array(&walk, words->second, count, skip, words->fourth, 0);
	}
	record->inputs = record->many;
}

bool hk_walk_result(struct hk_record *record, PyObject *result)
{
	struct walk walk = {record, HK_DUMP_OUTPUT, false};

	visit(&walk, result, "", 0);
	return walk.found;
}
