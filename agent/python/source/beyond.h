/* beyond.h: functions that CPython exports and the stable ABI of 3.8 lacks. WEAK ones are NULL in
 * the versions that do not have them. */
#ifndef HK_PYTHON_BEYOND_H
#define HK_PYTHON_BEYOND_H

#include <Python.h>

/* all versions; of the stable ABI since 3.10 */
const char *PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *ret_bytes);

#endif
