/* The type Calls: an iterator over the recorded calls of a job, as Tables. */
#include <errno.h>
#include <stdlib.h>

#include "call_columns.h"
#include "calls.h"
#include "object.h"

#define RANKS_MAX (1 << 20)
#define ROWS_MAX (1 << 20)

struct calls_object {
	PyObject_HEAD struct hk_calls *calls; /* NULL: given to a stream */
	struct hk_schema *schema;
	int busy; /* a thread without the GIL reads */
};

static PyObject *calls_type;

static struct calls_object *calls_of(PyObject *self)
{
	return (struct calls_object *)self;
}

static void calls_dealloc(PyObject *self)
{
	hk_calls_free(calls_of(self)->calls);
	hk_schema_unref(calls_of(self)->schema);
	hk_object_free(self);
}

/* Returns the calls that no other thread reads; NULL with an exception. */
static struct hk_calls *take_calls(struct calls_object *self)
{
	if (self->busy) {
		PyErr_SetString(PyExc_RuntimeError, "another thread reads these records");
		return NULL;
	}
	if (!self->calls) {
		PyErr_SetString(PyExc_ValueError, "these records were given to a stream");
	}
	return self->calls;
}

static PyObject *calls_next(PyObject *object)
{
	struct calls_object *self = calls_of(object);
	struct hk_calls *calls = take_calls(self);
	struct hk_table *table = NULL;
	int rc = calls ? -EAGAIN : 0;

	while (rc == -EAGAIN) {
		self->busy = 1;
		Py_BEGIN_ALLOW_THREADS;
		rc = hk_calls_next(calls, &table);
		Py_END_ALLOW_THREADS;
		self->busy = 0;
		if (rc == -EAGAIN && PyErr_CheckSignals() < 0) {
			return NULL;
		}
	}
	if (rc < 0) {
		return hk_object_error(rc, NULL);
	}
	return rc > 0 ? hk_table_object(table) : NULL;
}

static PyObject *calls_iter(PyObject *self)
{
	Py_INCREF(self);
	return self;
}

static PyObject *calls_counts(PyObject *object, PyObject *unused)
{
	struct hk_calls *calls = take_calls(calls_of(object));

	(void)unused;
	if (!calls) {
		return NULL;
	}
	struct hk_calls_counts counts = hk_calls_counts(calls);
	return Py_BuildValue(
	    "{s:K,s:K,s:K,s:K,s:K,s:K,s:n}", "calls", (unsigned long long)counts.calls, "lost",
	    (unsigned long long)counts.lost, "shed", (unsigned long long)counts.shed, "elsewhere",
	    (unsigned long long)counts.elsewhere, "damaged", (unsigned long long)counts.damaged,
	    "too_deep", (unsigned long long)counts.too_deep, "newer", (Py_ssize_t)counts.newer);
}

static PyObject *calls_schema(PyObject *self, PyObject *unused)
{
	(void)unused;
	return hk_capsule_schema(calls_of(self)->schema);
}

static int stream_next(void *context, struct hk_table **ret_table)
{
	int rc;

	do {
		rc = hk_calls_next(context, ret_table);
	} while (rc == -EAGAIN);
	return rc;
}

static void stream_free(void *context)
{
	hk_calls_free(context);
}

/* The calls belong to the stream from then on. */
static PyObject *calls_stream(PyObject *object, PyObject *arguments, PyObject *keywords)
{
	struct calls_object *self = calls_of(object);
	struct hk_calls *calls = take_calls(self);

	(void)arguments;
	(void)keywords;
	if (!calls) {
		return NULL;
	}
	const struct hk_export_source source = {stream_next, stream_free, calls};
	self->calls = NULL;
	return hk_capsule_stream(self->schema, &source);
}

static PyMethodDef methods[] = {
    {"counts", calls_counts, METH_NOARGS, "counts(): calls read, and records missing, so far"},
    {"__arrow_c_schema__", calls_schema, METH_NOARGS, "The schema, for the Arrow C interface"},
    {"__arrow_c_stream__", (PyCFunction)(void (*)(void))calls_stream, METH_VARARGS | METH_KEYWORDS,
     "The calls as a stream, for the Arrow C interface; this iterator has none then"},
    {NULL, NULL, 0, NULL},
};

/* ---- making one ---- */

/* Sets the ranks of OPTIONS from a list, or none. Returns 0 or -1; the caller frees them. */
static int take_ranks(PyObject *list, struct hk_calls_options *options)
{
	Py_ssize_t count = list == Py_None ? 0 : PyList_Size(list);
	int32_t *ranks =
	    count < 0 || list == Py_None ? NULL : calloc((size_t)count + 1, sizeof(*ranks));

	if (list == Py_None || !ranks || count > RANKS_MAX) {
		free(ranks);
		return list == Py_None ? 0 : count > RANKS_MAX ? (PyErr_NoMemory(), -1) : -1;
	}
	for (Py_ssize_t i = 0; i < count; i++) {
		long rank = PyLong_AsLong(PyList_GetItem(list, i));
		if (rank == -1 && PyErr_Occurred()) {
			free(ranks);
			return -1;
		}
		ranks[i] = rank < INT32_MIN || rank > INT32_MAX ? INT32_MIN : (int32_t)rank;
	}
	options->ranks = ranks;
	options->rank_count = (size_t)count;
	return 0;
}

/* Sets the columns of OPTIONS from a list of names. Returns 0 or -1; the caller frees them. */
static int take_columns(PyObject *list, struct hk_calls_options *options)
{
	bool seen[HK_CALL_COLUMNS] = {false};
	Py_ssize_t count = PyList_Size(list);
	uint16_t *columns = count < 0 ? NULL : calloc((size_t)count + 1, sizeof(*columns));
	const char *name;

	options->columns = columns;
	for (Py_ssize_t i = 0; columns && i < count; i++) {
		PyObject *one = PyTuple_Pack(1, PyList_GetItem(list, i));
		int column =
		    one && PyArg_ParseTuple(one, "s", &name) ? hk_call_column_find(name) : -2;
		if (column == -1 || (column >= 0 && seen[column])) {
			PyErr_Format(PyExc_ValueError, "invalid column '%s': expected %s", name,
				     column == -1 ? "a name of hooktrace.COLUMNS"
						  : "each one once");
		}
		Py_XDECREF(one);
		if (PyErr_Occurred()) {
			return -1;
		}
		seen[column] = true;
		columns[i] = (uint16_t)column;
	}
	options->column_count = columns ? (size_t)count : 0;
	return columns ? 0 : -1;
}

static PyObject *begin(struct hk_job_snapshot *job, const struct hk_calls_options *options)
{
	struct hk_calls *calls;
	int rc;

	Py_BEGIN_ALLOW_THREADS;
	rc = hk_calls_new(job, options, &calls);
	Py_END_ALLOW_THREADS;
	if (rc < 0) {
		return hk_object_error(rc, job->directory);
	}
	struct calls_object *self = PyObject_New(struct calls_object, (PyTypeObject *)calls_type);
	if (!self) {
		hk_calls_free(calls);
		return NULL;
	}
	self->calls = calls;
	self->schema = hk_schema_ref(hk_calls_schema(calls));
	self->busy = 0;
	return (PyObject *)self;
}

PyObject *hk_calls_object(struct hk_job_snapshot *job, PyObject *arguments)
{
	struct hk_calls_options options = {0};
	PyObject *ranks, *columns, *made = NULL;
	long long from_ns, to_ns;
	Py_ssize_t rows;

	if (!PyArg_ParseTuple(arguments, "OLLOn", &ranks, &from_ns, &to_ns, &columns, &rows)) {
		return NULL;
	}
	if (rows < 1 || rows > ROWS_MAX) {
		return PyErr_Format(PyExc_ValueError, "invalid batch: expected 1 to %d rows",
				    ROWS_MAX);
	}
	options.from_ns = from_ns;
	options.to_ns = to_ns;
	options.rows = (size_t)rows;
	if (take_ranks(ranks, &options) == 0 && take_columns(columns, &options) == 0) {
		made = begin(job, &options);
	} else if (!PyErr_Occurred()) {
		PyErr_NoMemory();
	}
	free((void *)options.ranks);
	free((void *)options.columns);
	return made;
}

int hk_calls_object_add(PyObject *module)
{
	static PyType_Slot slots[] = {
	    {Py_tp_new, hk_object_refuse}, {Py_tp_dealloc, calls_dealloc}, {Py_tp_methods, methods},
	    {Py_tp_iter, calls_iter},	   {Py_tp_iternext, calls_next},   {0, NULL},
	};
	static PyType_Spec spec = {"hooktrace._reader.Calls", sizeof(struct calls_object), 0,
				   Py_TPFLAGS_DEFAULT, slots};

	(void)module;
	calls_type = PyType_FromSpec(&spec);
	return calls_type ? 0 : -1;
}
