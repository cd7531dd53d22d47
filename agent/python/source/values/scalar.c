#include "scalar.h"

#include <stdio.h>

#include "python/source/beyond.h"
#include "tensor.h"

#define ITEMS_MAX 64

struct text {
	char *next, *end;
};

static void put(struct text *text, const char *format, const char *value)
{
	int bytes = snprintf(text->next, (size_t)(text->end - text->next), format, value);

	text->next += bytes < 0			       ? 0
		      : bytes < text->end - text->next ? bytes
						       : text->end - text->next - 1;
}

static bool put_number(struct text *text, PyObject *object)
{
	char digits[32];

	if (PyFloat_Check(object)) {
		snprintf(digits, sizeof(digits), "%.17g", PyFloat_AsDouble(object));
	} else {
		int overflow = 0;
		long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
		snprintf(digits, sizeof(digits), overflow ? "2**64 or so" : "%lld", number);
	}
	put(text, "%s", digits);
	return true;
}

static bool put_str(struct text *text, PyObject *object, const char *format)
{
	PyObject *string = PyObject_Str(object);

	put(text, format, hk_values_text(string));
	PyErr_Clear();
	Py_XDECREF(string);
	return true;
}

static bool put_one(struct text *text, PyObject *object)
{
	if (object == Py_None || object == Py_True || object == Py_False) {
		put(text, "%s", object == Py_None ? "None" : object == Py_True ? "True" : "False");
		return true;
	}
	if (Py_TYPE(object) == &PyLong_Type || Py_TYPE(object) == &PyFloat_Type) {
		return put_number(text, object);
	}
	if (Py_TYPE(object) == &PyUnicode_Type) {
		return put_str(text, object, "'%s'");
	}
	return hk_tensor_class(object) == HK_CLASS_SCALAR && put_str(text, object, "%s");
}

static bool put_items(struct text *text, PyObject *object)
{
	Py_ssize_t many = PySequence_Size(object);

	if (many > ITEMS_MAX) {
		return false;
	}
	put(text, "%s", "(");
	for (Py_ssize_t i = 0; i < many; i++) {
		PyObject *item = PySequence_GetItem(object, i);
		put(text, "%s", i > 0 ? ", " : "");
		bool is_put = item && put_one(text, item);
		Py_XDECREF(item);
		if (!is_put) {
			PyErr_Clear();
			return false;
		}
	}
	put(text, "%s", ")");
	return true;
}

bool hk_scalar_text(PyObject *object, char *buffer, size_t bytes)
{
	struct text text = {buffer, buffer + bytes};

	if (PyTuple_Check(object) || PyList_Check(object)) {
		return put_items(&text, object);
	}
	return put_one(&text, object);
}
