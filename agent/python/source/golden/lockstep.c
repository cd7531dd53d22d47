#include <Python.h>
#include <stdbool.h>
#include <stdlib.h>

#include "python/source/apis.h"
#include "python/source/part.h"

/* calls of APIs, with their arguments and results, handed to two functions of Python: one before
 * and one behind each call */

#define METH_FAST 0x80 /* METH_FASTCALL */

static PyObject *before, *after; /* owned; NULL: no session */

/* A call that the function before has a token for. */
struct seen {
	struct hk_api_seen base;
	PyObject *token; /* owned */
	PyObject *after; /* of the session that the call began in; owned */
};

/* ---- the arguments of a call ---- */

/* SELF, if not NULL, and COUNT items, as a tuple. */
static PyObject *tuple_of(PyObject *self, PyObject *const *items, Py_ssize_t count)
{
	Py_ssize_t first = self ? 1 : 0;
	PyObject *tuple = PyTuple_New(first + count);

	for (Py_ssize_t i = 0; tuple && i < first + count; i++) {
		PyObject *item = i < first ? self : items[i - first];
		Py_INCREF(item);
		PyTuple_SetItem(tuple, i, item);
	}
	return tuple;
}

/* The keywords NAMES and their values, as a dict; None without any. */
static PyObject *dict_of(PyObject *names, PyObject *const *values)
{
	Py_ssize_t count = names ? PyTuple_Size(names) : 0;
	PyObject *dict = count ? PyDict_New() : Py_None;

	if (!count) {
		Py_INCREF(dict);
	}
	for (Py_ssize_t i = 0; dict && i < count; i++) {
		if (PyDict_SetItem(dict, PyTuple_GetItem(names, i), values[i]) < 0) {
			Py_CLEAR(dict);
		}
	}
	return dict;
}

static PyObject *tuple_behind(PyObject *self, PyObject *rest)
{
	Py_ssize_t count = rest ? PyTuple_Size(rest) : 0, first = self ? 1 : 0;
	PyObject *tuple = PyTuple_New(first + count);

	for (Py_ssize_t i = 0; tuple && i < first + count; i++) {
		PyObject *item = i < first ? self : PyTuple_GetItem(rest, i - first);
		Py_INCREF(item);
		PyTuple_SetItem(tuple, i, item);
	}
	return tuple;
}

static PyObject *or_none(PyObject *object)
{
	object = object ? object : Py_None;
	Py_INCREF(object);
	return object;
}

/* Sets the ARGUMENTS and KEYWORDS of the call with WORDS; either may be NULL, with an exception. */
static void arguments_of(const struct hk_api *api, const struct hk_api_words *words,
			 PyObject **ret_arguments, PyObject **ret_keywords)
{
	PyObject *const *items = words->second;
	Py_ssize_t count = (Py_ssize_t)(words->third & (uintptr_t)PY_SSIZE_T_MAX);

	if (api->kind != HK_API_METHOD) {
		*ret_arguments = tuple_of(NULL, items, count);
		*ret_keywords = dict_of(words->fourth, items + count);
	} else if (api->flags & METH_FAST) {
		PyObject *names = api->flags & METH_KEYWORDS ? words->fourth : NULL;
		*ret_arguments = tuple_of(words->self, items, (Py_ssize_t)words->third);
		*ret_keywords = dict_of(names, items + (Py_ssize_t)words->third);
	} else if (api->flags & METH_O) {
		PyObject *one = words->second;
		*ret_arguments = tuple_of(words->self, &one, 1);
		*ret_keywords = or_none(NULL);
	} else {
		bool more = api->flags & METH_VARARGS;
		bool named = more && (api->flags & METH_KEYWORDS);
		*ret_arguments = tuple_behind(words->self, more ? words->second : NULL);
		*ret_keywords = or_none(named ? (PyObject *)words->third : NULL);
	}
}

/* ---- the observer ---- */

/* What goes wrong in the function before is shown, and the call is left alone. */
static struct hk_api_seen *begin(struct hk_api *api, const struct hk_api_words *words)
{
	PyObject *arguments = NULL, *keywords = NULL, *token = NULL;

	if (!before) {
		return NULL;
	}
	PyObject *kind, *value, *trace;
	PyErr_Fetch(&kind, &value, &trace);
	arguments_of(api, words, &arguments, &keywords);
	if (arguments && keywords) {
		token = PyObject_CallFunctionObjArgs(before, api->name, arguments, keywords, NULL);
	}
	Py_XDECREF(arguments);
	Py_XDECREF(keywords);
	if (!token) {
		PyErr_WriteUnraisable(before);
	}
	PyErr_Restore(kind, value, trace);
	if (!token || token == Py_None) {
		Py_XDECREF(token);
		return NULL;
	}
	struct seen *seen = calloc(1, sizeof(*seen));
	if (!seen) {
		Py_DECREF(token);
		return NULL;
	}
	seen->token = token;
	seen->after = after;
	Py_INCREF(after);
	return &seen->base;
}

static int end_call(struct hk_api_seen *base, PyObject *result)
{
	struct seen *seen = (struct seen *)base;
	PyObject *answer = NULL;

	if (result) {
		answer = PyObject_CallFunctionObjArgs(seen->after, seen->token, result, NULL);
	}
	Py_DECREF(seen->token);
	Py_DECREF(seen->after);
	free(seen);
	Py_XDECREF(answer);
	return result && !answer ? -1 : 0;
}

static const struct hk_api_observer observer = {.begin = begin, .end = end_call};

/* ---- functions ---- */

static PyObject *lockstep_begin(PyObject *module, PyObject *arguments)
{
	PyObject *first, *second;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "OO:lockstep_begin", &first, &second)) {
		return NULL;
	}
	if (hk_api_observer) {
		PyErr_SetString(PyExc_RuntimeError,
				"cannot observe values: a dump or another validation does (stop "
				"that first)");
		return NULL;
	}
	Py_INCREF(first);
	Py_INCREF(second);
	before = first;
	after = second;
	hk_api_observer = &observer;
	Py_RETURN_NONE;
}

static PyObject *lockstep_hook(PyObject *module, PyObject *arguments)
{
	PyObject *object, *name, *library;
	unsigned int domain;
	const char *reason;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "OUUI:lockstep_hook", &object, &name, &library, &domain)) {
		return NULL;
	}
	const struct hk_api *api =
	    hk_api_hook(object, name, library, domain, HK_API_VALUED, &reason);
	if (!api && PyErr_Occurred()) {
		return NULL;
	}
	return PyBool_FromLong(api != NULL);
}

static PyObject *lockstep_end(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	if (hk_api_observer != &observer) {
		Py_RETURN_NONE;
	}
	hk_api_unhook(HK_API_VALUED);
	hk_api_observer = NULL;
	Py_CLEAR(before);
	Py_CLEAR(after);
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"lockstep_begin", lockstep_begin, METH_VARARGS,
     "lockstep_begin(before, after): hooked calls ask before(name, arguments, keywords or None), "
     "and, unless that answers None, after(its answer, result). What `after` raises, the call "
     "raises."},
    {"lockstep_hook", lockstep_hook, METH_VARARGS,
     "lockstep_hook(function, name, library, domain): whether its calls are observed now"},
    {"lockstep_end", lockstep_end, METH_NOARGS, "lockstep_end(): no call is observed"},
    {NULL, NULL, 0, NULL},
};

int hk_lockstep_add(PyObject *module)
{
	return PyModule_AddFunctions(module, methods);
}
