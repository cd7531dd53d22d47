#include "apis.h"

#include <stdlib.h>

#include "apis_numbers.h"
#include "part.h"

/* the functions of hooktrace._native that hooktrace.apis is made of */

static PyObject *apis_layout(PyObject *module, PyObject *unused)
{
	const char *differs = hk_api_layout_check();

	(void)module;
	(void)unused;
	if (!differs) {
		Py_RETURN_NONE;
	}
	return PyUnicode_FromString(differs);
}

static PyObject *owned(PyObject *object)
{
	Py_XINCREF(object);
	return object;
}

/* A place of the table that is free, or NULL. */
static struct hk_api *new_api(PyObject *name, PyObject *library, unsigned int domain)
{
	static uint32_t next;

	for (uint32_t tried = 0; tried < HK_APIS; tried++, next++) {
		struct hk_api *api = &hk_apis[next % HK_APIS];
		if (api->kind == HK_API_FREE) {
			*api = (struct hk_api){.site = HK_NO_SITE, .domain = domain};
			api->name = owned(name);
			api->library = owned(library);
			next++;
			return api;
		}
	}
	return NULL;
}

/* The API that OBJECT is hooked as, or NULL. */
static struct hk_api *hooked(PyObject *object)
{
	for (uint32_t i = 0; i < HK_APIS; i++) {
		struct hk_api *api = &hk_apis[i];
		if (api->kind != HK_API_FREE && api->object == object && !api->unhooked) {
			return api;
		}
	}
	return NULL;
}

static struct hk_api *hook_first(struct hk_api *api, PyObject *object, const char **ret_reason)
{
	if (!api) {
		return NULL;
	}
	api->object = owned(object);
	*ret_reason = hk_api_slot_put(api);
	if (*ret_reason) {
		hk_api_free(api);
		return NULL;
	}
	return api;
}

struct hk_api *hk_api_hook(PyObject *object, PyObject *name, PyObject *library, unsigned int domain,
			   enum hk_api_use use, const char **ret_reason)
{
	*ret_reason = NULL;
	if (domain >= HK_API_DOMAINS) {
		PyErr_SetString(PyExc_ValueError, "domain is at least 0 and below 16");
		return NULL;
	}
	struct hk_api *api = hk_api_is_hooked(object) ? hooked(object) : NULL;

	if (api && (api->uses & (unsigned int)use)) {
		*ret_reason = "is hooked already";
		return NULL;
	}
	if (!api) {
		*ret_reason = "is beyond the number of APIs at a time";
		api = hook_first(new_api(name, library, domain), object, ret_reason);
	} else if (use == HK_API_TIMED) {
		api->domain = domain;
	}
	if (api) {
		api->uses |= (unsigned int)use;
	}
	return api;
}

static PyObject *reason_text(const struct hk_api *api, const char *reason)
{
	if (PyErr_Occurred()) {
		return NULL;
	}
	if (api) {
		Py_RETURN_NONE;
	}
	return PyUnicode_FromString(reason);
}

static PyObject *apis_hook(PyObject *module, PyObject *arguments)
{
	PyObject *object, *name, *library;
	unsigned int domain;
	const char *reason;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "OUUI", &object, &name, &library, &domain)) {
		return NULL;
	}
	struct hk_api *api = hk_api_hook(object, name, library, domain, HK_API_TIMED, &reason);

	return reason_text(api, reason);
}

/* The APIs of CLASSES, by the class. */
static PyObject *class_places(PyObject *classes, PyObject *library, unsigned int domain)
{
	PyObject *places = PyDict_New(), *type, *name;
	Py_ssize_t position = 0;

	while (places && PyDict_Next(classes, &position, &type, &name)) {
		struct hk_api *api = PyUnicode_Check(name) ? new_api(name, library, domain) : NULL;
		PyObject *place = api ? PyLong_FromLong(api - hk_apis) : NULL;
		if (api) {
			api->kind = HK_API_CLASS;
			api->uses = HK_API_TIMED;
		}
		if (place && PyDict_SetItem(places, type, place) < 0) {
			Py_CLEAR(places);
		}
		Py_XDECREF(place);
	}
	return places;
}

/* Takes USE from API. Returns whether a slot is restored. */
static bool unhook(struct hk_api *api, enum hk_api_use use)
{
	api->uses &= ~(unsigned int)use;
	if (use == HK_API_TIMED) {
		Py_CLEAR(api->classes);
	}
	if (api->uses) {
		return false;
	}
	bool has_slot = api->kind != HK_API_CLASS;

	hk_api_slot_restore(api);
	api->unhooked = true;
	if (api->active == 0) {
		hk_api_free(api);
	}
	return has_slot;
}

long hk_api_unhook(enum hk_api_use use)
{
	long restored = 0;
	bool left = false;

	for (uint32_t i = 0; i < HK_APIS; i++) {
		struct hk_api *api = &hk_apis[i];
		if (api->kind == HK_API_FREE || api->unhooked) {
			continue;
		}
		restored += (api->uses & (unsigned int)use) && unhook(api, use);
		left = left || (api->kind != HK_API_FREE && api->uses);
	}
	if (!left) {
		hk_api_evaluator_end();
	}
	return restored;
}

static PyObject *apis_hook_classes(PyObject *module, PyObject *arguments)
{
	PyObject *function, *classes, *name, *library;
	unsigned int domain;
	const char *reason;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "OO!UUI", &function, &PyDict_Type, &classes, &name,
			      &library, &domain)) {
		return NULL;
	}
	struct hk_api *api = hk_api_hook(function, name, library, domain, HK_API_TIMED, &reason);

	if (api && api->kind != HK_API_PYTHON) {
		unhook(api, HK_API_TIMED);
		api = NULL;
		reason = "is not written in Python";
	}
	if (api) {
		api->classes = class_places(classes, library, domain);
	}
	return reason_text(api, reason);
}

static PyObject *apis_unhook(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyLong_FromLong(hk_api_unhook(HK_API_TIMED));
}

static void set_callable(PyObject **place, PyObject *callable)
{
	PyObject *before = *place;

	*place = callable == Py_None ? NULL : owned(callable);
	Py_XDECREF(before);
}

static PyObject *apis_settings(PyObject *module, PyObject *arguments)
{
	int inside, inside_classes;
	PyObject *synchronize, *report;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "ppOO", &inside, &inside_classes, &synchronize, &report)) {
		return NULL;
	}
	hk_api_settings.inside = inside;
	hk_api_settings.inside_classes = inside_classes;
	set_callable(&hk_api_settings.synchronize, synchronize);
	set_callable(&hk_api_settings.report, report);
	Py_RETURN_NONE;
}

static PyObject *apis_evaluator(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyBool_FromLong(hk_api_evaluator_begin());
}

static PyObject *apis_block_begin(PyObject *module, PyObject *unused)
{
	static uint64_t number;

	(void)module;
	(void)unused;
	for (uint32_t i = 0; i < HK_APIS; i++) {
		free(hk_apis[i].numbers);
		hk_apis[i].numbers = NULL;
	}
	hk_api_settings.block = ++number;
	Py_RETURN_NONE;
}

static PyObject *block_row(const struct hk_api *api)
{
	PyObject *numbers = hk_api_numbers_tuple(api->numbers);
	PyObject *row = numbers ? PyTuple_Pack(2, api->name, numbers) : NULL;

	Py_XDECREF(numbers);
	return row;
}

static PyObject *apis_block_end(PyObject *module, PyObject *unused)
{
	PyObject *rows = PyList_New(0);

	(void)module;
	(void)unused;
	hk_api_settings.block = 0;
	for (uint32_t i = 0; rows && i < HK_APIS; i++) {
		PyObject *row = hk_apis[i].numbers ? block_row(&hk_apis[i]) : NULL;
		if ((hk_apis[i].numbers && !row) || (row && PyList_Append(rows, row) < 0)) {
			Py_CLEAR(rows);
		}
		Py_XDECREF(row);
	}
	return rows;
}

static PyMethodDef methods[] = {
    {"apis_layout", apis_layout, METH_NOARGS,
     "apis_layout(): None, or the structure that differs in this interpreter"},
    {"apis_hook", apis_hook, METH_VARARGS,
     "apis_hook(object, name, library, domain): None if OBJECT is hooked now, or why it is not"},
    {"apis_hook_classes", apis_hook_classes, METH_VARARGS,
     "apis_hook_classes(function, {class: name}, name, library, domain): calls of FUNCTION count "
     "for the class of their first argument"},
    {"apis_unhook", apis_unhook, METH_NOARGS, "apis_unhook(): restores all slots; their number"},
    {"apis_settings", apis_settings, METH_VARARGS,
     "apis_settings(inside, inside_classes, synchronize, report): what is done at each call"},
    {"apis_evaluator", apis_evaluator, METH_NOARGS,
     "apis_evaluator(): has functions written in Python asked for their slots; whether they are"},
    {"apis_block_begin", apis_block_begin, METH_NOARGS, "apis_block_begin(): numbers from here on"},
    {"apis_block_end", apis_block_end, METH_NOARGS,
     "apis_block_end(): [(name, (calls, errors, total, min, p50, p99, max))], times in ns"},
    {NULL, NULL, 0, NULL},
};

int hk_apis_add(PyObject *module)
{
	return PyModule_AddFunctions(module, methods);
}
