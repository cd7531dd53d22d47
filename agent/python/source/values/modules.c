#include "modules.h"

#include <stdlib.h>

#include "session.h"

struct running {
	PyObject *path; /* owned */
	bool in_scope;
};

struct stack {
	struct running *modules;
	size_t many, room;
	uint32_t epoch;
};

static __thread struct stack stack;
static PyObject *paths;

void hk_modules_name(PyObject *given)
{
	Py_XINCREF(given);
	Py_XDECREF(paths);
	paths = given;
}

PyObject *hk_modules_class(PyObject *module)
{
	PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(module), "__name__");

	if (!name) {
		PyErr_Clear();
	}
	return name;
}

/* (path, in scope) of MODULE, borrowed, or NULL if it has no name. */
static PyObject *known(PyObject *module)
{
	PyObject *address = paths ? PyLong_FromVoidPtr(module) : NULL;
	PyObject *found = address ? PyDict_GetItem(paths, address) : NULL;

	Py_XDECREF(address);
	return found;
}

static bool has_room(void)
{
	if (stack.many < stack.room) {
		return true;
	}
	size_t room = stack.room ? 2 * stack.room : 32;
	struct running *modules = realloc(stack.modules, room * sizeof(*modules));

	if (!modules) {
		return false;
	}
	stack.modules = modules;
	stack.room = room;
	return true;
}

static void begin_epoch(void)
{
	while (stack.many > 0) {
		hk_modules_leave();
	}
	stack.epoch = hk_values.epoch;
}

bool hk_modules_enter(PyObject *module, bool always)
{
	if (stack.epoch != hk_values.epoch) {
		begin_epoch();
	}
	if (!has_room()) {
		return false;
	}
	PyObject *found = known(module);
	bool above = stack.many > 0 && stack.modules[stack.many - 1].in_scope;
	struct running *running = &stack.modules[stack.many++];

	running->in_scope = always || above || (found && PyTuple_GetItem(found, 1) == Py_True);
	running->path = found ? PyTuple_GetItem(found, 0) : hk_modules_class(module);
	if (found) {
		Py_INCREF(running->path);
	}
	return true;
}

void hk_modules_leave(void)
{
	if (stack.many > 0) {
		Py_XDECREF(stack.modules[--stack.many].path);
	}
}

PyObject *hk_modules_path(void)
{
	PyObject *path = stack.many > 0 && stack.epoch == hk_values.epoch
			     ? stack.modules[stack.many - 1].path
			     : NULL;

	if (!path) {
		return PyUnicode_FromString("");
	}
	Py_INCREF(path);
	return path;
}

bool hk_modules_in_scope(void)
{
	return stack.many > 0 && stack.epoch == hk_values.epoch &&
	       stack.modules[stack.many - 1].in_scope;
}
