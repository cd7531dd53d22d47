#include <Python.h>

#include "agent.h"
#include "beyond.h"
#include "part.h"

/* ranges, marks, steps and counters of a program; without an agent they do nothing */

static PyObject *range_push(PyObject *module, PyObject *name)
{
	Py_ssize_t bytes;
	const char *text = PyUnicode_AsUTF8AndSize(name, &bytes);

	(void)module;
	if (!text) {
		return NULL;
	}
	if (hk_agent.hk_range_push) {
		hk_agent.hk_range_push(text);
	}
	Py_RETURN_NONE;
}

static PyObject *range_pop(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	if (hk_agent.hk_range_pop) {
		hk_agent.hk_range_pop();
	}
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"range_push", range_push, METH_O, "range_push(name): a range begins on this thread"},
    {"range_pop", range_pop, METH_NOARGS, "range_pop(): this thread's newest range ends"},
    {NULL, NULL, 0, NULL},
};

int hk_annotate_add(PyObject *module)
{
	return PyModule_AddFunctions(module, methods);
}
