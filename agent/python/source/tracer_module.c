#include "tracer_module.h"

#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "beyond.h"
#include "tracer_map.h"

#define NAME_BYTES 512

static struct hk_map sites; /* by the address of an instance that lives: site + 1 */
static PyObject *numbers;   /* {name of a class: instances so far} */

bool hk_tracer_module_is_call(PyObject *code)
{
	PyObject *loaded = PyImport_GetModuleDict();				  /* borrowed */
	PyObject *file = PyDict_GetItemString(loaded, "torch.nn.modules.module"); /* borrowed */
	PyObject *type = file ? PyObject_GetAttrString(file, "Module") : NULL;
	PyObject *call = type ? PyObject_GetAttrString(type, "__call__") : NULL;
	PyObject *its_code = call ? PyObject_GetAttrString(call, "__code__") : NULL;
	bool is = its_code == code;

	PyErr_Clear();
	Py_XDECREF(type);
	Py_XDECREF(call);
	Py_XDECREF(its_code);
	return is;
}

/* The instance whose address is SELF has ended. */
static PyObject *forget(PyObject *self, PyObject *reference)
{
	hk_map_remove(&sites, PyLong_AsSize_t(self));
	Py_DECREF(reference); /* of keep_until_end() */
	Py_RETURN_NONE;
}

static PyMethodDef forget_definition = {"forget", forget, METH_O, NULL};

/* Its site is valid as long as MODULE lives. Returns whether that is taken care of. */
static bool keep_until_end(PyObject *module)
{
	PyObject *address = PyLong_FromSize_t((size_t)module);
	PyObject *callback = address ? PyCFunction_New(&forget_definition, address) : NULL;
	PyObject *reference = callback ? PyWeakref_NewRef(module, callback) : NULL;

	Py_XDECREF(address);
	Py_XDECREF(callback);
	return reference; /* it ends in forget() */
}

/* Returns how many instances of the class NAME came before, or -1. */
static long next_number(const char *name)
{
	if (!numbers) {
		numbers = PyDict_New();
	}
	PyObject *had = numbers ? PyDict_GetItemString(numbers, name) : NULL; /* borrowed */
	long number = had ? PyLong_AsLong(had) : 0;
	PyObject *more = PyLong_FromLong(number + 1);
	bool kept = numbers && more && PyDict_SetItemString(numbers, name, more) == 0;

	Py_XDECREF(more);
	return kept ? number : -1;
}

static const char *text_of(PyObject *text, const char *otherwise)
{
	const char *read = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;

	PyErr_Clear();
	return read ? read : otherwise;
}

static uint32_t define(PyObject *module)
{
	PyObject *type = (PyObject *)Py_TYPE(module);
	PyObject *name = PyObject_GetAttrString(type, "__name__");
	PyObject *place = PyObject_GetAttrString(type, "__module__");
	char function[NAME_BYTES];
	long number = next_number(text_of(name, "?"));

	snprintf(function, sizeof(function), "nn.Module: %s_%ld", text_of(name, "?"), number);
	uint32_t site = number < 0 ? HK_NO_SITE
				   : hk_agent.hk_site_define(&(struct hk_site_text){
					 .function = function,
					 .library = text_of(place, "torch.nn"),
					 .domain = "python"});
	PyErr_Clear();
	Py_XDECREF(name);
	Py_XDECREF(place);
	return site;
}

uint32_t hk_tracer_module_site(PyObject *module, uint32_t otherwise)
{
	PyObject *type, *value, *traceback;
	uint64_t *known = module ? hk_map_at(&sites, (uintptr_t)module) : NULL;

	if (!known) {
		return otherwise;
	}
	if (*known) {
		return (uint32_t)(*known - 1);
	}
	PyErr_Fetch(&type, &value, &traceback);
	uint32_t site = define(module);
	if (site == HK_NO_SITE || !keep_until_end(module)) {
		hk_map_remove(&sites, (uintptr_t)module);
		site = otherwise;
	} else {
		*hk_map_at(&sites, (uintptr_t)module) = (uint64_t)site + 1;
	}
	PyErr_Clear();
	PyErr_Restore(type, value, traceback);
	return site;
}
