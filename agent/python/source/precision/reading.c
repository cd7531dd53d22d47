/* The type DumpFile: a process's part of a dump, for hooktrace/precision/reading.py. */
#include <Python.h>
#include <string.h>

#include "dump/reader.h"
#include "python/source/part.h"

#define REASON_BYTES 4500 /* with a path in it */

struct dump_object {
	PyObject_HEAD struct hk_dump_file *file;
};

static PyObject *dump_type;

static struct hk_dump_file *file_of(PyObject *self)
{
	return ((struct dump_object *)self)->file;
}

static void dump_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	hk_dump_file_close(file_of(self));
	PyObject_Free(self);
	Py_DECREF(type);
}

/* Files are hostile: what is no UTF-8 is shown as escapes. */
static PyObject *make_text(const char *text)
{
	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "backslashreplace");
}

static PyObject *make_optional(const char *text)
{
	if (!text) {
		Py_RETURN_NONE;
	}
	return make_text(text);
}

static PyObject *make_shape(const struct hk_dump_row *row)
{
	PyObject *shape = PyTuple_New(row->dimensions);

	for (uint32_t d = 0; shape && d < row->dimensions; d++) {
		PyObject *size = PyLong_FromUnsignedLongLong(row->shape[d]);
		if (!size || PyTuple_SetItem(shape, d, size) < 0) {
			Py_CLEAR(shape);
		}
	}
	return shape;
}

/* The number of a row's argument; -1 with an exception. */
static Py_ssize_t take_index(const struct hk_dump_file *file, PyObject *number)
{
	Py_ssize_t index = PyLong_AsSsize_t(number);

	if (index == -1 && PyErr_Occurred()) {
		return -1;
	}
	if (index < 0 || (size_t)index >= hk_dump_file_rows(file)) {
		PyErr_SetString(PyExc_IndexError, "the file has no such row");
		return -1;
	}
	return index;
}

#define WIDE(value) (unsigned long long)(value)

static PyObject *dump_row(PyObject *self, PyObject *number)
{
	const Py_ssize_t index = take_index(file_of(self), number);
	struct hk_dump_row row;

	if (index < 0) {
		return NULL;
	}
	hk_dump_file_row(file_of(self), (size_t)index, &row);
	const struct hk_statistics *statistics = &row.statistics;
	return Py_BuildValue(
	    "KKKIIINNINNNIsNKKKKKdddddKKKKIKKN", WIDE(row.sequence), WIDE(row.forward_sequence),
	    WIDE(row.step), (unsigned)row.kind, (unsigned)row.phase, (unsigned)row.role,
	    make_text(row.name), make_text(row.of), row.number, make_text(row.slot),
	    make_text(row.device), make_optional(row.scalar), row.flags, hk_dtype_name(row.dtype),
	    make_shape(&row), WIDE(statistics->count), WIDE(statistics->nans),
	    WIDE(statistics->positive_infs), WIDE(statistics->negative_infs),
	    WIDE(statistics->zeros), statistics->min, statistics->max, statistics->mean,
	    statistics->l2, statistics->deviation, WIDE(statistics->digest), WIDE(row.storage),
	    WIDE(row.version), WIDE(row.offset), row.stack, WIDE(row.thread), WIDE(row.begin_ns),
	    PyBool_FromLong(row.has_payload));
}

static PyObject *dump_stack(PyObject *self, PyObject *number)
{
	const unsigned long long stack = PyLong_AsUnsignedLongLongMask(number);
	const char *const *frames;
	uint32_t count;
	PyObject *tuple;

	if (PyErr_Occurred()) {
		return NULL;
	}
	count =
	    stack < HK_DUMP_NONE ? hk_dump_file_stack(file_of(self), (uint32_t)stack, &frames) : 0;
	tuple = PyTuple_New(count);
	for (uint32_t i = 0; tuple && i < count; i++) {
		PyObject *frame = make_text(frames[i]);
		if (!frame || PyTuple_SetItem(tuple, i, frame) < 0) {
			Py_CLEAR(tuple);
		}
	}
	return tuple;
}

static PyObject *dump_elements(PyObject *self, PyObject *number)
{
	const Py_ssize_t index = take_index(file_of(self), number);
	struct hk_dump_row row;
	const char *reason = NULL;
	const void *elements;

	if (index < 0) {
		return NULL;
	}
	elements = hk_dump_file_elements(file_of(self), (size_t)index, &reason);
	if (!elements) {
		PyErr_Format(PyExc_LookupError, "cannot read the elements of row %zd: %s", index,
			     reason);
		return NULL;
	}
	hk_dump_file_row(file_of(self), (size_t)index, &row);
	return PyBytes_FromStringAndSize(
	    elements, (Py_ssize_t)(row.statistics.count * hk_dtype_bytes(row.dtype)));
}

static PyObject *make_reasons(const uint64_t left[HK_DUMP_REASONS])
{
	return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K}", "limit", WIDE(left[HK_DUMP_LEFT_LIMIT]),
			     "disk", WIDE(left[HK_DUMP_LEFT_DISK]), "slow",
			     WIDE(left[HK_DUMP_LEFT_SLOW]), "memory",
			     WIDE(left[HK_DUMP_LEFT_MEMORY]), "fork", WIDE(left[HK_DUMP_LEFT_FORK]),
			     "unknown", WIDE(left[HK_DUMP_LEFT_UNKNOWN]));
}

static PyObject *dump_counts(PyObject *self, PyObject *unused)
{
	const char *damage;
	bool complete;
	const struct hk_dump_counts counts = hk_dump_file_counts(file_of(self), &complete, &damage);

	(void)unused;
	return Py_BuildValue("{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:N,s:N,s:i,s:N,s:N}", "rows",
			     WIDE(counts.rows), "payloads", WIDE(counts.payloads), "duplicates",
			     WIDE(counts.duplicates), "bytes", WIDE(counts.bytes), "rows_left_out",
			     WIDE(counts.rows_left_out), "payloads_left_out",
			     WIDE(counts.payloads_left_out), "payload_bytes_left_out",
			     WIDE(counts.payload_bytes_left_out), "wait_ns", WIDE(counts.wait_ns),
			     "rows_left_by", make_reasons(counts.rows_left), "payloads_left_by",
			     make_reasons(counts.payloads_left), "error", counts.error, "complete",
			     PyBool_FromLong(complete), "damage", make_optional(damage));
}

static PyObject *dump_about(PyObject *self, PyObject *unused)
{
	(void)unused;
	return make_text(hk_dump_file_about(file_of(self)));
}

static PyObject *dump_rank(PyObject *self, PyObject *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLong(hk_dump_file_rank(file_of(self)));
}

static PyObject *dump_rows(PyObject *self, PyObject *unused)
{
	(void)unused;
	return PyLong_FromSize_t(hk_dump_file_rows(file_of(self)));
}

/* dump_open(path: bytes) */
static PyObject *dump_open(PyObject *module, PyObject *arguments)
{
	char reason[REASON_BYTES];
	struct hk_dump_file *file;
	struct dump_object *object;
	PyObject *path;
	const char *text;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "O&", PyUnicode_FSConverter, &path)) {
		return NULL;
	}
	text = PyBytes_AsString(path);
	Py_BEGIN_ALLOW_THREADS;
	file = hk_dump_file_open(text, reason, sizeof(reason));
	Py_END_ALLOW_THREADS;
	Py_DECREF(path);
	if (!file) {
		PyErr_SetString(PyExc_OSError, reason);
		return NULL;
	}
	object = PyObject_New(struct dump_object, (PyTypeObject *)dump_type);
	if (!object) {
		hk_dump_file_close(file);
		return NULL;
	}
	object->file = file;
	return (PyObject *)object;
}

static PyObject *refuse(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	(void)type;
	(void)arguments;
	(void)keywords;
	PyErr_SetString(PyExc_TypeError,
			"hooktrace.precision.open(directory) makes objects of this type");
	return NULL;
}

static PyMethodDef methods[] = {
    {"row", dump_row, METH_O, "row(index): the row, as a tuple"},
    {"stack", dump_stack, METH_O, "stack(number): the frames, innermost first"},
    {"elements", dump_elements, METH_O, "elements(index): the elements of a row, as bytes"},
    {"counts", dump_counts, METH_NOARGS, "counts(): what the file has, and what was left out"},
    {"about", dump_about, METH_NOARGS, "about(): a JSON object"},
    {"rank", dump_rank, METH_NOARGS, "rank(): of the process"},
    {"rows", dump_rows, METH_NOARGS, "rows(): their number"},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef functions[] = {
    {"dump_open", dump_open, METH_VARARGS, "dump_open(path): reads a file of a dump"},
    {NULL, NULL, 0, NULL},
};

int hk_reading_add(PyObject *module)
{
	static PyType_Slot slots[] = {{Py_tp_new, refuse},
				      {Py_tp_dealloc, dump_dealloc},
				      {Py_tp_methods, methods},
				      {0, NULL}};
	static PyType_Spec spec = {"hooktrace._native.DumpFile", sizeof(struct dump_object), 0,
				   Py_TPFLAGS_DEFAULT, slots};

	dump_type = PyType_FromSpec(&spec);
	return dump_type ? PyModule_AddFunctions(module, functions) : -1;
}
