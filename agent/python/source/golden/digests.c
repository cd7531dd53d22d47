#include <Python.h>
#include <stdlib.h>

#include "python/source/agent.h"
#include "python/source/part.h"
#include "tensor/difference.h"
#include "tensor/statistics.h"

/* digests of tensors, their differences, and the digests that ranks should agree on */

/* A tensor of the caller's, with the numbers that it points to. */
struct described {
	struct hk_tensor tensor;
	uint64_t shape[HK_TENSOR_DIMENSIONS];
	int64_t strides[HK_TENSOR_DIMENSIONS];
};

/* Reads the numbers of LIST into NUMBERS. Returns how many, or -1 with an exception. */
static Py_ssize_t read_numbers(PyObject *list, int64_t *numbers)
{
	Py_ssize_t count = PyTuple_Check(list) ? PyTuple_Size(list) : -1;

	if (count < 0 || count > HK_TENSOR_DIMENSIONS) {
		PyErr_Format(PyExc_ValueError, "shape and strides are tuples of at most %d numbers",
			     HK_TENSOR_DIMENSIONS);
		return -1;
	}
	for (Py_ssize_t i = 0; i < count; i++) {
		numbers[i] = PyLong_AsLongLong(PyTuple_GetItem(list, i));
		if (PyErr_Occurred()) {
			return -1;
		}
	}
	return count;
}

/* Reads bytes, or (address, dtype, shape, strides in elements or None). */
static int describe(PyObject *from, struct described *to)
{
	unsigned long long address;
	const char *dtype;
	PyObject *shape, *strides;

	*to = (struct described){.tensor = {.dimensions = 1, .dtype = HK_DTYPE_U8}};
	to->tensor.shape = to->shape;
	if (PyBytes_Check(from)) {
		to->tensor.data = PyBytes_AsString(from);
		to->shape[0] = (uint64_t)PyBytes_Size(from);
		return 0;
	}
	if (!PyTuple_Check(from)) {
		PyErr_SetString(PyExc_TypeError, "a tensor is bytes or a tuple");
		return -1;
	}
	if (!PyArg_ParseTuple(from, "KsOO", &address, &dtype, &shape, &strides)) {
		return -1;
	}
	to->tensor.data = (const void *)(uintptr_t)address;
	to->tensor.dtype = hk_dtype_parse(dtype);
	Py_ssize_t count = read_numbers(shape, (int64_t *)to->shape);
	if (count < 0) {
		return -1;
	}
	to->tensor.dimensions = (uint32_t)count;
	if (strides != Py_None) {
		if (read_numbers(strides, to->strides) != count) {
			return PyErr_Occurred() ? -1
						: (PyErr_SetString(PyExc_ValueError,
								   "one stride for each dimension"),
						   -1);
		}
		to->tensor.strides = to->strides;
	}
	return 0;
}

static PyObject *digest(PyObject *module, PyObject *tensor)
{
	struct described described;
	struct hk_statistics statistics;
	int r;

	(void)module;
	if (describe(tensor, &described) < 0) {
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS;
	r = hk_statistics_take(&described.tensor, &statistics);
	Py_END_ALLOW_THREADS;
	return r < 0 ? PyErr_Format(PyExc_ValueError, "no tensor whose elements are known: %R",
				    tensor)
		     : PyLong_FromUnsignedLongLong(statistics.digest);
}

static PyObject *difference(PyObject *module, PyObject *arguments)
{
	PyObject *first, *second;
	struct described a, b;
	struct hk_difference found;
	int r;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "OO:difference", &first, &second) ||
	    describe(first, &a) < 0 || describe(second, &b) < 0) {
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS;
	r = hk_difference_take(&a.tensor, &b.tensor, &found);
	Py_END_ALLOW_THREADS;
	if (r < 0) {
		return PyErr_Format(PyExc_ValueError,
				    "cannot compare %R and %R: their elements differ in number or "
				    "are not known",
				    first, second);
	}
	return Py_BuildValue(
	    "{sKsKsKsKsdsdsdsdsKsdsdsd}", "count", (unsigned long long)found.count, "equal",
	    (unsigned long long)found.equal, "only_a", (unsigned long long)found.only_a, "only_b",
	    (unsigned long long)found.only_b, "cosine", found.cosine, "rmse", found.rmse, "max_abs",
	    found.max_abs, "max_rel", found.max_rel, "max_abs_at",
	    (unsigned long long)found.max_abs_at, "within_1000", found.within_1000, "within_5000",
	    found.within_5000, "within_dtype", found.within_dtype);
}

/* Reads the pairs (name, digest) of LIST into VALUES. */
static int read_values(PyObject *list, struct hk_agreed *values, Py_ssize_t count)
{
	for (Py_ssize_t i = 0; i < count; i++) {
		unsigned long long value;
		PyObject *pair = PyList_GetItem(list, i);
		if (!pair || !PyTuple_Check(pair) ||
		    !PyArg_ParseTuple(pair, "sK", &values[i].name, &value)) {
			if (!PyErr_Occurred()) {
				PyErr_SetString(PyExc_TypeError, "values are (name, digest)");
			}
			return -1;
		}
		values[i].digest = value;
	}
	return 0;
}

static PyObject *agree(PyObject *module, PyObject *arguments)
{
	const char *group;
	unsigned long long step;
	PyObject *list;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "sKO:agree", &group, &step, &list)) {
		return NULL;
	}
	Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : -1;
	if (count < 0) {
		return PyErr_Format(PyExc_TypeError, "values are a list of (name, digest)");
	}
	struct hk_agreed *values = calloc((size_t)count + 1, sizeof(*values));
	if (!values) {
		return PyErr_NoMemory();
	}
	int r = read_values(list, values, count);
	if (r == 0 && hk_agent.hk_agree) {
		hk_agent.hk_agree(group, step, values, (size_t)count);
	}
	free(values);
	return r < 0 ? NULL : PyBool_FromLong(hk_agent.hk_agree != NULL);
}

static PyMethodDef methods[] = {
    {"digest", digest, METH_O,
     "digest(tensor): the digest of its elements. A tensor is bytes, or (address, dtype, shape, "
     "strides in elements or None)."},
    {"difference", difference, METH_VARARGS,
     "difference(tensor, reference): how far they are apart (proto/tensor/difference.h)"},
    {"agree", agree, METH_VARARGS,
     "agree(group, step, [(name, digest)]): the collector compares them with the other ranks'. "
     "Returns whether there is an agent that knows of it."},
    {NULL, NULL, 0, NULL},
};

int hk_digests_add(PyObject *module)
{
	return PyModule_AddFunctions(module, methods);
}
