/* part.h: the parts of hooktrace._native. Each adds its functions to the MODULE, and returns 0, or
 * -1 with an exception. */
#ifndef HK_PYTHON_PART_H
#define HK_PYTHON_PART_H

#include <Python.h>

int hk_annotate_add(PyObject *module);
int hk_tracer_add(PyObject *module);
int hk_apis_add(PyObject *module);
int hk_digests_add(PyObject *module);
int hk_lockstep_add(PyObject *module);
int hk_values_add(PyObject *module);  /* where HK_PRECISION is defined */
int hk_reading_add(PyObject *module); /* where HK_PRECISION is defined */

#endif
