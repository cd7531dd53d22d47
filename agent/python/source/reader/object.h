/* object.h: the Python types of hooktrace._reader and what they share. All functions need the GIL,
 * and return NULL or -1 with an exception set. */
#ifndef HK_READER_OBJECT_H
#define HK_READER_OBJECT_H

#include <Python.h>

#include "export.h"
#include "snapshot.h"
#include "table.h"

/* Sets the exception for the negative errno ERROR, about PATH if it is not NULL; returns NULL. */
PyObject *hk_object_error(int error, const char *path);

/* The tp_new of types that only this module makes objects of. */
PyObject *hk_object_refuse(PyTypeObject *type, PyObject *arguments, PyObject *keywords);

/* Frees the memory of SELF, made by PyObject_New of a heap type. */
void hk_object_free(PyObject *self);

/* Capsules of the Arrow PyCapsule interface. The second takes a reference to TABLE; the third takes
 * over SOURCE, also on failure. */
PyObject *hk_capsule_schema(const struct hk_schema *schema);
PyObject *hk_capsule_array(struct hk_table *table);
PyObject *hk_capsule_stream(struct hk_schema *schema, const struct hk_export_source *source);

/* Wraps TABLE and takes over its reference, also on failure. */
PyObject *hk_table_object(struct hk_table *table);

/* Begin the parts of the module; each adds its types and functions. Return 0 or -1. */
int hk_table_object_add(PyObject *module);
int hk_calls_object_add(PyObject *module);

/* Makes the object that reads the calls of JOB: calls(ranks, start_ns, end_ns, columns, rows). */
PyObject *hk_calls_object(struct hk_job_snapshot *job, PyObject *arguments);

#endif
