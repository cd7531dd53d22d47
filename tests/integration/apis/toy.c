/* _toy: functions and methods in C of each kind, for CPython 3.8 and newer: what a framework is
 * made of. */
#include <Python.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

static PyObject *add(PyObject *self, PyObject *arguments)
{
	PyObject *a, *b;

	(void)self;
	return PyArg_ParseTuple(arguments, "OO", &a, &b) ? PyNumber_Add(a, b) : NULL;
}

static PyObject *scale(PyObject *self, PyObject *arguments, PyObject *keywords)
{
	static char *names[] = {"a", "by", NULL};
	PyObject *a, *by;

	(void)self;
	return PyArg_ParseTupleAndKeywords(arguments, keywords, "OO", names, &a, &by)
		   ? PyNumber_Multiply(a, by)
		   : NULL;
}

static PyObject *apply(PyObject *self, PyObject *arguments)
{
	PyObject *function, *value;

	(void)self;
	return PyArg_ParseTuple(arguments, "OO", &function, &value)
		   ? PyObject_CallFunctionObjArgs(function, value, NULL)
		   : NULL;
}

/* Other threads run meanwhile. */
static PyObject *yield_to_others(PyObject *self, PyObject *arguments)
{
	int times;

	(void)self;
	if (!PyArg_ParseTuple(arguments, "i", &times)) {
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS;
	while (times-- > 0) {
		sched_yield();
	}
	Py_END_ALLOW_THREADS;
	Py_RETURN_NONE;
}

static PyObject *one(PyObject *self, PyObject *argument)
{
	(void)self;
	Py_INCREF(argument);
	return argument;
}

static PyObject *none(PyObject *self, PyObject *unused)
{
	(void)unused;
	Py_INCREF(self);
	return self;
}

static PyObject *plus(PyObject *self, PyObject *argument)
{
	(void)self;
	if (!PyLong_Check(argument)) {
		Py_RETURN_NOTIMPLEMENTED;
	}
	Py_INCREF(argument);
	return argument;
}

/* A class whose method's description stands in memory that cannot be written. */
static PyObject *constant(PyObject *self, PyObject *unused)
{
	static const PyMethodDef described[] = {{"same", one, METH_O, NULL}, {NULL, NULL, 0, NULL}};
	void *page = mmap(NULL, sizeof(described), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)self;
	(void)unused;
	if (page == MAP_FAILED) {
		return PyErr_NoMemory();
	}
	memcpy(page, described, sizeof(described));
	mprotect(page, sizeof(described), PROT_READ);
	PyType_Slot held[] = {{Py_tp_methods, page}, {0, NULL}};
	PyType_Spec class = {"_toy.Constant", 0, 0, Py_TPFLAGS_DEFAULT, held};
	return PyType_FromSpec(&class);
}

#define WITH_KEYWORDS(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef functions[] = {
    {"add", add, METH_VARARGS, "add(a, b)"},
    {"scale", WITH_KEYWORDS(scale), METH_VARARGS | METH_KEYWORDS, "scale(a, by)"},
    {"apply", apply, METH_VARARGS, "apply(function, value)"},
    {"yield_to_others", yield_to_others, METH_VARARGS, "yield_to_others(times)"},
    {"one", one, METH_O, "one(value)"},
    {"none", none, METH_NOARGS, "none()"},
    {"constant", constant, METH_NOARGS, "constant()"},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef methods[] = {
    {"pair", add, METH_VARARGS, "pair(a, b)"},
    {"scaled", WITH_KEYWORDS(scale), METH_VARARGS | METH_KEYWORDS, "scaled(a, by)"},
    {"same", one, METH_O, "same(value)"},
    {"itself", none, METH_NOARGS, "itself()"},
    {"__add__", plus, METH_O, "an operator"},
    {"make", add, METH_VARARGS | METH_STATIC, "make(a, b)"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0, NULL}};
static PyType_Spec spec = {"_toy.TensorBase", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
			   slots};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_toy", .m_size = -1,
					.m_methods = functions};

PyMODINIT_FUNC PyInit__toy(void);
PyMODINIT_FUNC PyInit__toy(void)
{
	PyObject *module = PyModule_Create(&definition);
	PyObject *type = PyType_FromSpec(&spec);

	if (module && type && PyModule_AddObject(module, "TensorBase", type) == 0) {
		return module;
	}
	Py_XDECREF(type);
	Py_XDECREF(module);
	return NULL;
}
