#include "object.h"

#include <errno.h>
#include <stdlib.h>

PyObject *hk_object_error(int error, const char *path)
{
	if (error == -ENOMEM) {
		return PyErr_NoMemory();
	}
	errno = -error;
	return path ? PyErr_SetFromErrnoWithFilename(PyExc_OSError, path)
		    : PyErr_SetFromErrno(PyExc_OSError);
}

PyObject *hk_object_refuse(PyTypeObject *type, PyObject *arguments, PyObject *keywords)
{
	(void)type;
	(void)arguments;
	(void)keywords;
	PyErr_SetString(PyExc_TypeError, "hooktrace.open(job) makes objects of this type");
	return NULL;
}

void hk_object_free(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_Free(self);
	Py_DECREF(type);
}

/* ---- capsules ---- */

static void free_schema(PyObject *capsule)
{
	struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");

	if (schema->release) {
		schema->release(schema);
	}
	free(schema);
}

static void free_array(PyObject *capsule)
{
	struct ArrowArray *array = PyCapsule_GetPointer(capsule, "arrow_array");

	if (array->release) {
		array->release(array);
	}
	free(array);
}

static void free_stream(PyObject *capsule)
{
	struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");

	if (stream->release) {
		stream->release(stream);
	}
	free(stream);
}

PyObject *hk_capsule_schema(const struct hk_schema *schema)
{
	struct ArrowSchema *made = calloc(1, sizeof(*made));
	PyObject *capsule = NULL;

	if (!made || hk_export_schema(schema, made) < 0) {
		free(made);
		return PyErr_NoMemory();
	}
	capsule = PyCapsule_New(made, "arrow_schema", free_schema);
	if (!capsule) {
		made->release(made);
		free(made);
	}
	return capsule;
}

PyObject *hk_capsule_array(struct hk_table *table)
{
	struct ArrowArray *made = calloc(1, sizeof(*made));
	PyObject *capsule = NULL;

	if (!made || hk_export_table(table, made) < 0) {
		free(made);
		return PyErr_NoMemory();
	}
	capsule = PyCapsule_New(made, "arrow_array", free_array);
	if (!capsule) {
		made->release(made);
		free(made);
	}
	return capsule;
}

PyObject *hk_capsule_stream(struct hk_schema *schema, const struct hk_export_source *source)
{
	struct ArrowArrayStream *made = calloc(1, sizeof(*made));
	PyObject *capsule = NULL;

	if (!made || hk_export_stream(schema, source, made) < 0) {
		source->free(source->context);
		free(made);
		return PyErr_NoMemory();
	}
	capsule = PyCapsule_New(made, "arrow_array_stream", free_stream);
	if (!capsule) {
		made->release(made);
		free(made);
	}
	return capsule;
}
