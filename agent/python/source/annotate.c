#include <Python.h>
#include <stdbool.h>

#include "agent.h"
#include "beyond.h"
#include "part.h"

/* ranges, marks, steps and counters of a program; without an agent, or after stop(), they do
 * nothing */

static bool on;		   /* guarded by the interpreter's lock */
static uint64_t next_step; /* the number of the next step() without one */

/* ---- functions ---- */

static PyObject *annotate(PyObject *module, PyObject *wanted)
{
	int truth = PyObject_IsTrue(wanted);

	(void)module;
	if (truth < 0) {
		return NULL;
	}
	on = truth && hk_agent.hk_range_push && hk_agent.hk_range_pop && hk_agent.hk_mark &&
	     hk_agent.hk_counter && hk_agent.hk_step;
	return PyBool_FromLong(on);
}

/* Returns NAME as the agent takes it, or NULL with an exception. Characters that UTF-8 does not
 * have, as of a file's name, are escaped: *RET_OWNER then keeps the text, else it is NULL. */
static const char *read_name(PyObject *name, PyObject **ret_owner)
{
	Py_ssize_t bytes;
	const char *text;

	*ret_owner = NULL;
	if (!PyUnicode_Check(name)) {
		PyErr_Format(PyExc_TypeError, "a name is a str, not %R", (PyObject *)Py_TYPE(name));
		return NULL;
	}
	text = PyUnicode_AsUTF8AndSize(name, &bytes);
	if (!text && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
		PyErr_Clear();
		*ret_owner = PyUnicode_AsEncodedString(name, "utf-8", "backslashreplace");
		text = *ret_owner ? PyBytes_AsString(*ret_owner) : NULL;
	}
	return text;
}

/* Gives NAME to TAKE. Returns 0, or -1 with an exception. */
static int give(PyObject *name, void (*take)(const char *name))
{
	PyObject *owner;
	const char *text = read_name(name, &owner);

	if (text) {
		take(text);
	}
	Py_XDECREF(owner);
	return text ? 0 : -1;
}

static PyObject *range_push(PyObject *module, PyObject *name)
{
	(void)module;
	if (on && give(name, hk_agent.hk_range_push) < 0) {
		return NULL;
	}
	Py_RETURN_NONE;
}

static PyObject *range_pop(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	if (on) {
		hk_agent.hk_range_pop();
	}
	Py_RETURN_NONE;
}

static PyObject *mark(PyObject *module, PyObject *name)
{
	(void)module;
	if (on && give(name, hk_agent.hk_mark) < 0) {
		return NULL;
	}
	Py_RETURN_NONE;
}

static PyObject *counter(PyObject *module, PyObject *arguments)
{
	PyObject *name, *owner;
	double value;

	(void)module;
	if (!on) {
		Py_RETURN_NONE;
	}
	if (!PyArg_ParseTuple(arguments, "Od:counter", &name, &value)) {
		return NULL;
	}
	const char *text = read_name(name, &owner);
	if (!text) {
		return NULL;
	}
	hk_agent.hk_counter(text, value);
	Py_XDECREF(owner);
	Py_RETURN_NONE;
}

static PyObject *step(PyObject *module, PyObject *arguments)
{
	PyObject *number = NULL;

	(void)module;
	if (!on) {
		Py_RETURN_NONE;
	}
	if (!PyArg_ParseTuple(arguments, "|O:step", &number)) {
		return NULL;
	}
	if (number && number != Py_None) {
		uint64_t given = PyLong_AsUnsignedLongLong(number);
		if (PyErr_Occurred()) {
			return NULL;
		}
		next_step = given;
	}
	hk_agent.hk_step(next_step++);
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"annotate", annotate, METH_O,
     "annotate(on): ranges and the like reach the agent from now on. Returns whether they do."},
    {"range_push", range_push, METH_O, "range_push(name): a range begins on this thread"},
    {"range_pop", range_pop, METH_NOARGS, "range_pop(): this thread's newest range ends"},
    {"mark", mark, METH_O,
     "mark(name)\n--\n\nSomething called NAME happens now on this thread.\n\n"
     "Raises TypeError while tracing is on if NAME is no str."},
    {"counter", counter, METH_VARARGS,
     "counter(name, value)\n--\n\nThe curve NAME has the number VALUE from now on, in the unit "
     "that you mean.\n\nRaises TypeError while tracing is on if VALUE is no number."},
    {"step", step, METH_VARARGS,
     "step(number=None)\n--\n\nStep NUMBER of the program's main loop begins: 0 or more, by "
     "default the one after the last.\n\n"
     "Raises TypeError or OverflowError while tracing is on if NUMBER is no such number."},
    {NULL, NULL, 0, NULL},
};

/* ---- the type range ---- */

struct range {
	PyObject_HEAD PyObject *name; /* str */
	uint64_t opened;	      /* ranges that this object has begun and not ended */
};

static PyObject *range_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"name", NULL};
	PyObject *name;

	if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "U:range", names, &name)) {
		return NULL;
	}
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct range *range = (struct range *)allocate(type, 0);
	if (range) {
		Py_INCREF(name);
		range->name = name;
	}
	return (PyObject *)range;
}

static void range_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	Py_CLEAR(((struct range *)self)->name);
	release(self);
	Py_DECREF(type);
}

static PyObject *range_enter(PyObject *self, PyObject *unused)
{
	struct range *range = (struct range *)self;

	(void)unused;
	if (on) {
		if (give(range->name, hk_agent.hk_range_push) < 0) {
			return NULL;
		}
		range->opened++;
	}
	Py_INCREF(self);
	return self;
}

/* Tracing may have begun or ended within the block: only what was begun is ended. */
static PyObject *range_exit(PyObject *self, PyObject *unused)
{
	struct range *range = (struct range *)self;

	(void)unused;
	if (range->opened > 0) {
		range->opened--;
		hk_agent.hk_range_pop();
	}
	Py_RETURN_NONE;
}

/* range(name)(function): hooktrace/decorate.py makes the function. */
static PyObject *range_call(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	PyObject *function;

	if ((keywords && PyDict_Size(keywords) > 0) ||
	    !PyArg_ParseTuple(arguments, "O:range", &function)) {
		return keywords && !PyErr_Occurred()
			   ? PyErr_Format(PyExc_TypeError, "a range decorates one function")
			   : NULL;
	}
	PyObject *module = PyImport_ImportModule("hooktrace.decorate");
	if (!module) {
		return NULL;
	}
	PyObject *made =
	    PyObject_CallMethod(module, "decorate", "OO", ((struct range *)self)->name, function);
	Py_DECREF(module);
	return made;
}

static PyObject *range_repr(PyObject *self)
{
	return PyUnicode_FromFormat("hooktrace.range(%R)", ((struct range *)self)->name);
}

static PyMethodDef range_methods[] = {
    {"__enter__", range_enter, METH_NOARGS, "The range begins on this thread."},
    {"__exit__", range_exit, METH_VARARGS, "It ends."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot range_slots[] = {
    {Py_tp_doc, (void *)"range(name)\n--\n\nA range of this thread's time that is shown and "
			"counted like a call.\n\nA context manager, which may be used again, and "
			"a decorator of functions."},
    {Py_tp_new, (void *)range_new},
    {Py_tp_dealloc, (void *)range_dealloc},
    {Py_tp_call, (void *)range_call},
    {Py_tp_repr, (void *)range_repr},
    {Py_tp_methods, range_methods},
    {0, NULL},
};

static PyType_Spec range_spec = {.name = "hooktrace.range",
				 .basicsize = sizeof(struct range),
				 .flags = Py_TPFLAGS_DEFAULT,
				 .slots = range_slots};

int hk_annotate_add(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&range_spec);

	if (!type) {
		return -1;
	}
	if (PyModule_AddObject(module, "range", type) < 0) {
		Py_DECREF(type);
		return -1;
	}
	return PyModule_AddFunctions(module, methods);
}
