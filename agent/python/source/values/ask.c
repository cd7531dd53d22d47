#include "ask.h"

#include <stdbool.h>

#include "python/source/apis.h"

#define TYPES 2 /* that a name is asked of all the time: tensors and parameters */

static const char *const names[HK_NAMES] = {
    [HK_NAME_DATA_PTR] = "data_ptr",
    [HK_NAME_DTYPE] = "dtype",
    [HK_NAME_SHAPE] = "shape",
    [HK_NAME_STRIDE] = "stride",
    [HK_NAME_STORAGE_OFFSET] = "storage_offset",
    [HK_NAME_REQUIRES_GRAD] = "requires_grad",
    [HK_NAME_VERSION] = "_version",
    [HK_NAME_LAYOUT] = "layout",
    [HK_NAME_IS_CPU] = "is_cpu",
    [HK_NAME_DEVICE] = "device",
    [HK_NAME_IS_VIEW] = "_is_view",
    [HK_NAME_IS_NEG] = "is_neg",
    [HK_NAME_STORAGE] = "untyped_storage",
    [HK_NAME_OLD_STORAGE] = "_storage",
    [HK_NAME_NBYTES] = "nbytes",
    [HK_NAME_GRAD_FN] = "grad_fn",
    [HK_NAME_OUTPUT_NR] = "output_nr",
    [HK_NAME_NEXT] = "next_functions",
    [HK_NAME_VARIABLE] = "variable",
    [HK_NAME_REGISTER] = "register_hook",
    [HK_NAME_ENTER] = "__enter__",
    [HK_NAME_EXIT] = "__exit__",
};

/* What a type has under a name. It stays for the process's life. */
struct known {
	PyTypeObject *type;		  /* owned; NULL: this place is free */
	PyObject *descriptor;		  /* owned, or NULL: the type is asked in Python's way */
	const struct PyGetSetDef *value;  /* an attribute, or NULL */
	const struct PyMethodDef *method; /* a method that takes no argument, or NULL */
};

static struct known known[HK_NAMES][TYPES];

PyObject *hk_name(enum hk_name name)
{
	static PyObject *interned[HK_NAMES];

	if (!interned[name]) {
		interned[name] = PyUnicode_InternFromString(names[name]);
	}
	return interned[name];
}

/* Whether attributes of instances are looked up as `object` does, so that a class's own
 * attribute in C is the answer. */
static bool is_plain(PyTypeObject *type)
{
	return (PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE) &&
	       PyType_GetSlot(type, Py_tp_getattro) == (void *)PyObject_GenericGetAttr;
}

static bool takes_nothing(const struct PyMethodDef *method)
{
	int kind = method->ml_flags & ~METH_COEXIST;

	return kind == METH_NOARGS || kind == METH_VARARGS ||
	       kind == (METH_VARARGS | METH_KEYWORDS);
}

/* Whether DESCRIPTOR is of a class that TYPE derives from, which CPython would check at each use.
 */
static bool is_of(PyObject *descriptor, PyTypeObject *type)
{
	PyObject *owner = PyObject_GetAttrString(descriptor, "__objclass__");
	bool is = owner && PyType_Check(owner) && PyType_IsSubtype(type, (PyTypeObject *)owner);

	PyErr_Clear();
	Py_XDECREF(owner);
	return is;
}

static void learn(struct known *place, PyTypeObject *type, enum hk_name name)
{
	PyObject *found = is_plain(type) ? PyObject_GetAttr((PyObject *)type, hk_name(name)) : NULL;
	bool own = found && is_of(found, type);
	const struct PyMethodDef *method = own ? hk_api_method_of(found) : NULL;
	const struct PyGetSetDef *value = own ? hk_api_value_of(found) : NULL;

	place->value = value && value->get ? value : NULL;
	place->method = method && takes_nothing(method) ? method : NULL;
	Py_INCREF(type);
	place->type = type;
	place->descriptor = found;
	PyErr_Clear();
}

/* What is known of NAME in the type of OBJECT, or NULL: other types were asked for it before. */
static const struct known *known_of(PyObject *object, enum hk_name name)
{
	PyTypeObject *type = Py_TYPE(object);

	for (struct known *place = known[name]; place < known[name] + TYPES; place++) {
		if (!place->type) {
			learn(place, type, name);
		}
		if (place->type == type) {
			return place;
		}
	}
	return NULL;
}

PyObject *hk_get(PyObject *object, enum hk_name name)
{
	const struct known *here = known_of(object, name);
	PyObject *value = here && here->value ? here->value->get(object, here->value->closure)
					      : PyObject_GetAttr(object, hk_name(name));

	if (!value) {
		PyErr_Clear();
	}
	return value;
}

/* The function is read at each call: hooks of APIs exchange it. */
static PyObject *call(PyObject *object, const struct PyMethodDef *method)
{
	static PyObject *nothing; /* an empty tuple */

	if (method->ml_flags & METH_NOARGS) {
		return method->ml_meth(object, NULL);
	}
	nothing = nothing ? nothing : PyTuple_New(0);
	if (!nothing) {
		return NULL;
	}
	if (method->ml_flags & METH_KEYWORDS) {
		PyCFunctionWithKeywords function =
		    (PyCFunctionWithKeywords)(void (*)(void))method->ml_meth;
		return function(object, nothing, NULL);
	}
	return method->ml_meth(object, nothing);
}

PyObject *hk_ask(PyObject *object, enum hk_name method)
{
	const struct known *here = known_of(object, method);
	PyObject *value = here && here->method
			      ? call(object, here->method)
			      : PyObject_CallMethodObjArgs(object, hk_name(method), NULL);

	if (!value) {
		PyErr_Clear();
	}
	return value;
}
