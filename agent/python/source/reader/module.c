/* hooktrace._reader: the files of a job, for hooktrace/job.py. The decoder is hookcli's own. */
#include <Python.h>

#include "call_columns.h"
#include "object.h"

struct job_object {
	PyObject_HEAD struct hk_job_snapshot *job;
};

static PyObject *job_type;

static struct hk_job_snapshot *job_of(PyObject *self)
{
	return ((struct job_object *)self)->job;
}

static void job_dealloc(PyObject *self)
{
	hk_job_snapshot_unref(job_of(self));
	hk_object_free(self);
}

static PyObject *job_calls(PyObject *self, PyObject *arguments)
{
	return hk_calls_object(job_of(self), arguments);
}

static PyObject *job_damaged(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(__atomic_load_n(&job_of(self)->damaged, __ATOMIC_RELAXED));
}

static PyObject *job_closed(PyObject *self, void *unused)
{
	(void)unused;
	return PyBool_FromLong(job_of(self)->snapshot->job->closed);
}

static PyObject *name_of(int column)
{
	char name[HK_CALL_COLUMN_BYTES];

	hk_call_column_name(column, name);
	return PyUnicode_FromString(name);
}

/* Names of the columns of WANTED, in order. */
static PyObject *names_of(const bool wanted[HK_CALL_COLUMNS])
{
	PyObject *list = PyList_New(0);

	for (int column = 0; list && column < HK_CALL_COLUMNS; column++) {
		PyObject *name = wanted[column] ? name_of(column) : NULL;
		if (wanted[column] && (!name || PyList_Append(list, name) < 0)) {
			Py_CLEAR(list);
		}
		Py_XDECREF(name);
	}
	return list;
}

/* The columns that the calls of the job have: of the named values those of its call sites. */
static PyObject *job_columns(PyObject *self, void *unused)
{
	const Hk__Snapshot *snapshot = job_of(self)->snapshot;
	bool wanted[HK_CALL_COLUMNS] = {false};

	(void)unused;
	for (int column = 0; column < HK_CALL_VALUE; column++) {
		wanted[column] = true;
	}
	for (size_t i = 0; i < snapshot->n_processes; i++) {
		const Hk__Process *process = snapshot->processes[i];
		for (size_t k = 0; k < process->n_sites; k++) {
			const Hk__Site *site = process->sites[k];
			for (size_t n = 0; n < site->n_keys; n++) {
				unsigned key = site->keys[n] & 255;
				wanted[HK_CALL_VALUE + key] =
				    hk_call_column_exists(HK_CALL_VALUE + (int)key);
			}
		}
	}
	return names_of(wanted);
}

static PyMethodDef job_methods[] = {
    {"calls", job_calls, METH_VARARGS,
     "calls(ranks, start_ns, end_ns, columns, rows): an iterator over Tables"},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef job_attributes[] = {
    {"damaged", job_damaged, NULL, "Whether a part of the job could not be read", NULL},
    {"closed", job_closed, NULL, "Whether the job has ended", NULL},
    {"columns", job_columns, NULL, "Names of the columns that its calls have", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static int job_add(void)
{
	static PyType_Slot slots[] = {
	    {Py_tp_new, hk_object_refuse},
	    {Py_tp_dealloc, job_dealloc},
	    {Py_tp_methods, job_methods},
	    {Py_tp_getset, job_attributes},
	    {0, NULL},
	};
	static PyType_Spec spec = {"hooktrace._reader.Job", sizeof(struct job_object), 0,
				   Py_TPFLAGS_DEFAULT, slots};

	job_type = PyType_FromSpec(&spec);
	return job_type ? 0 : -1;
}

/* open(directory): the job in it. */
static PyObject *open_job(PyObject *module, PyObject *arguments)
{
	PyObject *path = NULL;
	struct hk_job_snapshot *job;
	int rc;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "O&", PyUnicode_FSConverter, &path)) {
		return NULL;
	}
	const char *directory = PyBytes_AsString(path);
	Py_BEGIN_ALLOW_THREADS;
	rc = hk_job_snapshot_load(directory, &job);
	Py_END_ALLOW_THREADS;
	if (rc < 0) {
		hk_object_error(rc, directory);
		Py_DECREF(path);
		return NULL;
	}
	Py_DECREF(path);
	struct job_object *self = PyObject_New(struct job_object, (PyTypeObject *)job_type);
	if (!self) {
		hk_job_snapshot_unref(job);
		return NULL;
	}
	self->job = job;
	return (PyObject *)self;
}

/* columns(): all names of columns of calls. */
static PyObject *all_columns(PyObject *module, PyObject *unused)
{
	bool wanted[HK_CALL_COLUMNS];

	(void)module;
	(void)unused;
	for (int column = 0; column < HK_CALL_COLUMNS; column++) {
		wanted[column] = hk_call_column_exists(column);
	}
	return names_of(wanted);
}

static PyMethodDef functions[] = {
    {"open", open_job, METH_VARARGS, "open(directory): the job in it"},
    {"columns", all_columns, METH_NOARGS, "columns(): all names of columns of calls"},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_reader", .m_size = -1,
					.m_methods = functions};

PyMODINIT_FUNC PyInit__reader(void);
PyMODINIT_FUNC PyInit__reader(void)
{
	PyObject *module = PyModule_Create(&definition);

	if (module &&
	    (job_add() < 0 || hk_table_object_add(module) < 0 || hk_calls_object_add(module) < 0)) {
		Py_CLEAR(module);
	}
	return module;
}
