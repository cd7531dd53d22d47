/* unload_module: what unload.h does, as a module of Python's: visits(path, other, way, rounds). */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "unload.h"

static PyObject *visits(PyObject *, PyObject *arguments)
{
	const char *path, *other, *way;
	int rounds;
	if (!PyArg_ParseTuple(arguments, "sssi", &path, &other, &way, &rounds)) {
		return nullptr;
	}
	return PyLong_FromLong(unload_visits(path, other, way, rounds));
}

static PyMethodDef methods[] = {{"visits", visits, METH_VARARGS, "bytes spoiled"},
				{nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT,
			     "unload_module",
			     nullptr,
			     -1,
			     methods,
			     nullptr,
			     nullptr,
			     nullptr,
			     nullptr};

PyMODINIT_FUNC PyInit_unload_module()
{
	return PyModule_Create(&module);
}
