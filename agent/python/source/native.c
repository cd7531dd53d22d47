/* hooktrace._native: what the package does in C. Each part adds its functions in part.h. */
#include <Python.h>
#include <string.h>

#include "agent.h"
#include "part.h"

struct hk_agent hk_agent;

/* bind(name: str, address: int): the function NAME of the agent is at ADDRESS. */
static PyObject *bind(PyObject *module, PyObject *arguments)
{
	const char *name;
	unsigned long long address;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "sK", &name, &address)) {
		return NULL;
	}
#define X(type, function, parameters)                                       \
	if (strcmp(name, #function) == 0) {                                 \
		hk_agent.function = (type(*) parameters)(uintptr_t)address; \
		Py_RETURN_NONE;                                             \
	}
	HK_AGENT_FUNCTIONS(X)
#undef X
	return PyErr_Format(PyExc_KeyError, "the agent has no function %s", name);
}

static PyMethodDef methods[] = {
    {"bind", bind, METH_VARARGS, "bind(name, address): the agent's function NAME is at ADDRESS"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_native", .m_size = -1,
					.m_methods = methods};

PyMODINIT_FUNC PyInit__native(void);
PyMODINIT_FUNC PyInit__native(void)
{
	static int (*const parts[])(PyObject * module) = {
	    hk_annotate_add, hk_tracer_add,  hk_apis_add, hk_digests_add, hk_lockstep_add,
#ifdef HK_PRECISION
	    hk_values_add,   hk_reading_add,
#endif
	};
	PyObject *module = PyModule_Create(&definition);

	for (size_t i = 0; module && i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i](module) < 0) {
			Py_DECREF(module);
			return NULL;
		}
	}
	return module;
}
