#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "apis.h"
#include "beyond.h"

/* Where CPython 3.8 to 3.13 keep what the stable ABI does not show, in bytes. */
#define TYPE_VECTORCALL_OFFSET 56 /* PyTypeObject.tp_vectorcall_offset */
#define BUILTIN_METHOD 16	  /* PyCFunctionObject.m_ml */
#define BUILTIN_VECTORCALL 48	  /* PyCFunctionObject.vectorcall */
#define DESCRIPTOR_METHOD 40	  /* PyMethodDescrObject.d_method */
#define DESCRIPTOR_VALUE 40	  /* PyGetSetDescrObject.d_getset */

#define METH_FAST 0x80 /* METH_FASTCALL */
#define METH_KINDS (METH_VARARGS | METH_FAST | METH_NOARGS | METH_O)
#define PAGE_BYTES 4096u
#define METH_ALSO_TYPE 0x200 /* METH_METHOD: a fifth argument */

static PyTypeObject *builtin_type, *python_type, *descriptor_type, *value_type;
static size_t python_vectorcall;    /* PyFunctionObject.vectorcall */
static hk_api_function python_call; /* what stands there */

static void *word_at(const void *object, size_t offset)
{
	void *word;

	memcpy(&word, (const char *)object + offset, sizeof(word));
	return word;
}

static void **slot_at(PyObject *object, size_t offset)
{
	return (void **)(void *)((char *)object + offset);
}

/* objects of one's own */

static PyObject *sample_varargs(PyObject *self, PyObject *arguments)
{
	(void)self;
	Py_INCREF(arguments);
	return arguments;
}

static PyObject *sample_one(PyObject *self, PyObject *argument)
{
	(void)self;
	Py_INCREF(argument);
	return argument;
}

static PyMethodDef sample_functions[] = {
    {"sample_varargs", sample_varargs, METH_VARARGS, NULL},
    {"sample_one", sample_one, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static PyObject *sample_value(PyObject *self, void *closure)
{
	(void)closure;
	Py_INCREF(self);
	return self;
}

static PyGetSetDef sample_values[] = {
    {"sample_value", sample_value, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot sample_slots[] = {
    {Py_tp_methods, sample_functions},
    {Py_tp_getset, sample_values},
    {0, NULL},
};

static PyType_Spec sample_spec = {"hooktrace._native.Sample", sizeof(PyObject), 0,
				  Py_TPFLAGS_DEFAULT, sample_slots};

static const char *check_builtin(PyObject *varargs, PyObject *one)
{
	builtin_type = Py_TYPE(varargs);
	if (!_PyObject_MakeTpCall) {
		return "_PyObject_MakeTpCall";
	}
	if (word_at(builtin_type, TYPE_VECTORCALL_OFFSET) != (void *)BUILTIN_VECTORCALL) {
		return "PyTypeObject.tp_vectorcall_offset";
	}
	if (word_at(varargs, BUILTIN_METHOD) != &sample_functions[0] ||
	    word_at(varargs, BUILTIN_VECTORCALL) || !word_at(one, BUILTIN_VECTORCALL)) {
		return "PyCFunctionObject";
	}
	return NULL;
}

/* The type of what TYPE has as NAME, or NULL if its word at OFFSET is not DEFINITION. */
static PyTypeObject *type_of_sample(PyObject *type, const char *name, size_t offset,
				    const void *definition)
{
	PyObject *descriptor = PyObject_GetAttrString(type, name);
	bool is_there = descriptor && word_at(descriptor, offset) == definition;
	PyTypeObject *found = is_there ? Py_TYPE(descriptor) : NULL;

	Py_XDECREF(descriptor);
	return found;
}

static const char *check_type(PyObject *type)
{
	descriptor_type =
	    type_of_sample(type, "sample_varargs", DESCRIPTOR_METHOD, &sample_functions[0]);
	value_type = type_of_sample(type, "sample_value", DESCRIPTOR_VALUE, &sample_values[0]);
	if (!descriptor_type) {
		return "PyMethodDescrObject";
	}
	return value_type ? NULL : "PyGetSetDescrObject";
}

/* A new function that is written in Python, or NULL. */
static PyObject *python_function(void)
{
	PyObject *globals = PyDict_New();
	PyObject *function = NULL;

	if (globals && PyDict_SetItemString(globals, "__builtins__", PyEval_GetBuiltins()) == 0) {
		PyObject *code = Py_CompileString("lambda: 0", "<hooktrace>", Py_eval_input);
		function = code ? PyEval_EvalCode(code, globals, globals) : NULL;
		Py_XDECREF(code);
	}
	Py_XDECREF(globals);
	return function;
}

/* Whether OFFSET is where functions keep what calls them, the same in all. */
static bool is_vectorcall(PyObject *function, PyObject *other, size_t offset)
{
	if (offset < sizeof(PyObject) || offset > 256) {
		return false;
	}
	void *call = word_at(function, offset);

	if (!call || call != word_at(other, offset)) {
		return false;
	}
	if (PyFunction_SetVectorcall) {
		PyFunction_SetVectorcall(other, (hk_vectorcall)(void (*)(void))hk_api_stubs[0]);
		return word_at(other, offset) == (void *)hk_api_stubs[0];
	}
	return !_PyFunction_Vectorcall || call == (void *)_PyFunction_Vectorcall;
}

static const char *check_python(void)
{
	PyObject *function = python_function(), *other = python_function();
	bool known = false;

	if (function && other) {
		python_type = Py_TYPE(function);
		python_vectorcall = (size_t)word_at(python_type, TYPE_VECTORCALL_OFFSET);
		known = is_vectorcall(function, other, python_vectorcall);
		python_call = known ? (hk_api_function)word_at(function, python_vectorcall) : NULL;
	}
	Py_XDECREF(function);
	Py_XDECREF(other);
	return known ? NULL : "PyFunctionObject";
}

const char *hk_api_layout_check(void)
{
	static const char *differs = "";

	if (!differs || differs[0]) {
		return differs;
	}
	PyObject *varargs = PyCFunction_NewEx(&sample_functions[0], NULL, NULL);
	PyObject *one = PyCFunction_NewEx(&sample_functions[1], NULL, NULL);
	PyObject *type = PyType_FromSpec(&sample_spec);

	differs = varargs && one && type ? check_builtin(varargs, one) : "memory";
	differs = differs ? differs : check_type(type);
	differs = differs ? differs : check_python();
	PyErr_Clear();
	Py_XDECREF(varargs);
	Py_XDECREF(one);
	Py_XDECREF(type);
	return differs;
}

/* Asks the kernel, which answers with an error where a store would end the process: writes the word
 * over itself, through a pipe. System calls, because calls of libc may be hooked. */
static bool ask_writable(void **slot)
{
	int ends[2];
	long bytes = sizeof(*slot);

	if (syscall(SYS_pipe2, ends, O_CLOEXEC) < 0) {
		return false;
	}
	bool can = syscall(SYS_write, ends[1], slot, bytes) == bytes &&
		   syscall(SYS_read, ends[0], slot, bytes) == bytes;
	syscall(SYS_close, ends[0]);
	syscall(SYS_close, ends[1]);
	return can;
}

static bool is_writable(void **slot)
{
	static uintptr_t last; /* tables of methods have many on a page */
	uintptr_t page = (uintptr_t)slot / PAGE_BYTES;

	if (page != last && !ask_writable(slot)) {
		return false;
	}
	last = page;
	return true;
}

static bool is_stub(const void *function)
{
	uintptr_t first = (uintptr_t)hk_api_stubs[0], last = (uintptr_t)hk_api_stubs[HK_APIS - 1];
	uintptr_t least = first < last ? first : last, most = first < last ? last : first;

	return (uintptr_t)function >= least && (uintptr_t)function <= most;
}

static hk_api_function stub_of(const struct hk_api *api)
{
	return hk_api_stubs[api - hk_apis];
}

static PyMethodDef *method_of(PyObject *object, size_t offset)
{
	return word_at(object, offset);
}

const struct PyMethodDef *hk_api_method_of(PyObject *object)
{
	bool is = !hk_api_layout_check() && Py_TYPE(object) == descriptor_type;

	return is ? method_of(object, DESCRIPTOR_METHOD) : NULL;
}

const struct PyGetSetDef *hk_api_value_of(PyObject *object)
{
	bool is = !hk_api_layout_check() && Py_TYPE(object) == value_type;

	return is ? word_at(object, DESCRIPTOR_VALUE) : NULL;
}

static const char *put_builtin(struct hk_api *api)
{
	void **slot = slot_at(api->object, BUILTIN_VECTORCALL);
	int flags = method_of(api->object, BUILTIN_METHOD)->ml_flags;

	if (is_stub(*slot)) {
		return "is hooked already";
	}
	if (*slot || (flags & METH_KINDS) != METH_VARARGS) {
		return "is not called through its slot";
	}
	api->kind = HK_API_BUILTIN;
	*slot = (void *)stub_of(api);
	return NULL;
}

static const char *put_method(struct hk_api *api)
{
	PyMethodDef *method = method_of(api->object, DESCRIPTOR_METHOD);
	void **slot = (void **)(void *)&method->ml_meth;

	if (is_stub(*slot)) {
		return "is hooked already";
	}
	if (method->ml_flags & METH_ALSO_TYPE) {
		return "is a method that is given its class";
	}
	if (!is_writable(slot)) {
		return "stands in memory that cannot be written";
	}
	api->kind = HK_API_METHOD;
	api->flags = method->ml_flags;
	api->call = (hk_api_function)*slot;
	*slot = (void *)stub_of(api);
	return NULL;
}

static void set_python(PyObject *function, hk_api_function call)
{
	if (PyFunction_SetVectorcall) {
		PyFunction_SetVectorcall(function, (hk_vectorcall)(void (*)(void))call);
	} else {
		*slot_at(function, python_vectorcall) = (void *)call;
	}
}

static const char *put_python(struct hk_api *api)
{
	void *now = *slot_at(api->object, python_vectorcall);

	if (is_stub(now)) {
		return "is hooked already";
	}
	if (now != (void *)python_call) {
		return "is not called through its slot";
	}
	api->kind = HK_API_PYTHON;
	api->call = python_call;
	set_python(api->object, stub_of(api));
	return NULL;
}

const char *hk_api_slot_put(struct hk_api *api)
{
	PyTypeObject *type = Py_TYPE(api->object);

	if (hk_api_layout_check()) {
		return "unknown interpreter";
	}
	if (type == builtin_type) {
		return put_builtin(api);
	}
	if (type == python_type) {
		return put_python(api);
	}
	return type == descriptor_type ? put_method(api) : "is of another kind";
}

bool hk_api_is_hooked(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);

	if (hk_api_layout_check()) {
		return false;
	}
	if (type == builtin_type) {
		return is_stub(*slot_at(object, BUILTIN_VECTORCALL));
	}
	if (type == python_type) {
		return is_stub(*slot_at(object, python_vectorcall));
	}
	return type == descriptor_type &&
	       is_stub((void *)method_of(object, DESCRIPTOR_METHOD)->ml_meth);
}

void hk_api_slot_restore(struct hk_api *api)
{
	void *stub = (void *)stub_of(api);

	if (api->kind == HK_API_BUILTIN) {
		void **slot = slot_at(api->object, BUILTIN_VECTORCALL);
		*slot = *slot == stub ? NULL : *slot;
	} else if (api->kind == HK_API_METHOD) {
		PyMethodDef *method = method_of(api->object, DESCRIPTOR_METHOD);
		if ((void *)method->ml_meth == stub) {
			method->ml_meth = (PyCFunction)(void (*)(void))api->call;
		}
	} else if (api->kind == HK_API_PYTHON) {
		if (*slot_at(api->object, python_vectorcall) == stub) {
			set_python(api->object, api->call);
		}
	}
}
