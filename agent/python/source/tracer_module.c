#include "tracer_module.h"

#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "beyond.h"
#include "tracer_map.h"

#define NAME_BYTES 512

/* What is known of an instance that lives: bits 0 to 31 its site, bits 36 to 63 its number among
 * its class's instances. */
#define HAS_SITE (1ULL << 32)
#define IS_NOTED (1ULL << 33)
#define IS_KEPT (1ULL << 34) /* forgotten in time */
#define NUMBER_SHIFT 36
#define NUMBERS_MAX (1L << 27)

static struct hk_map instances; /* by address */
static PyObject *numbers;	/* {name of a class: instances so far} */
static PyObject *noter;		/* of hk_tracer_module_note_by(), or NULL */

/* Whether CODE is that of FUNCTION of CLASS in MODULE, if that is imported. */
static bool is_code_of(PyObject *code, const char *module, const char *class, const char *function)
{
	PyObject *loaded = PyImport_GetModuleDict();	       /* borrowed */
	PyObject *file = PyDict_GetItemString(loaded, module); /* borrowed */
	PyObject *type = file ? PyObject_GetAttrString(file, class) : NULL;
	PyObject *call = type ? PyObject_GetAttrString(type, function) : NULL;
	PyObject *its_code = call ? PyObject_GetAttrString(call, "__code__") : NULL;
	bool is = its_code == code;

	PyErr_Clear();
	Py_XDECREF(type);
	Py_XDECREF(call);
	Py_XDECREF(its_code);
	return is;
}

bool hk_tracer_module_is_call(PyObject *code)
{
	return is_code_of(code, "torch.nn.modules.module", "Module", "__call__");
}

bool hk_tracer_module_is_step(PyObject *code)
{
	return is_code_of(code, "torch.optim.optimizer", "Optimizer", "_optimizer_step_code");
}

void hk_tracer_module_note_by(PyObject *function)
{
	Py_XINCREF(function);
	Py_XDECREF(noter);
	noter = function;
}

/* The instance whose address is SELF has ended. */
static PyObject *forget(PyObject *self, PyObject *reference)
{
	hk_map_remove(&instances, PyLong_AsSize_t(self));
	Py_DECREF(reference); /* of keep_until_end() */
	Py_RETURN_NONE;
}

static PyMethodDef forget_definition = {"forget", forget, METH_O, NULL};

/* What is known of OBJECT is true as long as it lives. Returns whether that is taken care of. */
static bool keep_until_end(PyObject *object)
{
	PyObject *address = PyLong_FromSize_t((size_t)object);
	PyObject *callback = address ? PyCFunction_New(&forget_definition, address) : NULL;
	PyObject *reference = callback ? PyWeakref_NewRef(object, callback) : NULL;

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

/* Returns what is known of MODULE with a site and a number, or KNOWN without room for them. */
static uint64_t define(PyObject *module, uint64_t known)
{
	PyObject *type = (PyObject *)Py_TYPE(module);
	PyObject *name = PyObject_GetAttrString(type, "__name__");
	PyObject *place = PyObject_GetAttrString(type, "__module__");
	char function[NAME_BYTES];
	long number = next_number(text_of(name, "?"));
	uint32_t site = HK_NO_SITE;

	snprintf(function, sizeof(function), "nn.Module: %s_%ld", text_of(name, "?"), number);
	if (number >= 0 && number < NUMBERS_MAX) {
		site = hk_agent.hk_site_define(
		    &(struct hk_site_text){.function = function,
					   .library = text_of(place, "torch.nn"),
					   .domain = "python"});
	}
	PyErr_Clear();
	Py_XDECREF(name);
	Py_XDECREF(place);
	return site == HK_NO_SITE ? known
				  : known | HAS_SITE | (uint64_t)number << NUMBER_SHIFT | site;
}

static void note(PyObject *object, long number)
{
	PyObject *result = PyObject_CallFunction(noter, "Ol", object, number);

	PyErr_Clear();
	Py_XDECREF(result);
}

static uint64_t *entry_of(PyObject *object)
{
	return object ? hk_map_at(&instances, (uintptr_t)object) : NULL;
}

/* Completes what is known of OBJECT and returns it. */
static uint64_t meet(PyObject *object, bool is_module)
{
	uint64_t known = *entry_of(object);

	if (!(known & IS_KEPT)) {
		if (!keep_until_end(object)) {
			hk_map_remove(&instances, (uintptr_t)object);
			return 0;
		}
		known |= IS_KEPT;
	}
	if (is_module && !(known & HAS_SITE)) {
		known = define(object, known);
	}
	bool wanted = noter && !(known & IS_NOTED);
	known |= wanted ? IS_NOTED : 0;
	*entry_of(object) = known;
	if (wanted) {
		note(object, is_module ? (long)(known >> NUMBER_SHIFT) : -1);
	}
	return known;
}

/* Returns what is known of OBJECT, as complete as is wanted. */
static uint64_t known_of(PyObject *object, bool is_module)
{
	PyObject *type, *value, *traceback;
	uint64_t *known = entry_of(object);
	uint64_t wanted = (is_module ? HAS_SITE : 0) | (noter ? IS_NOTED : 0);

	if (!known) {
		return 0;
	}
	if ((*known & wanted) == wanted) {
		return *known;
	}
	PyErr_Fetch(&type, &value, &traceback);
	uint64_t result = meet(object, is_module);
	PyErr_Clear();
	PyErr_Restore(type, value, traceback);
	return result;
}

uint32_t hk_tracer_module_site(PyObject *module, uint32_t otherwise)
{
	uint64_t known = known_of(module, true);

	return known & HAS_SITE ? (uint32_t)known : otherwise;
}

void hk_tracer_module_step(PyObject *optimizer)
{
	known_of(optimizer, false);
}
