/* scalar.h: values that are no tensors, as text. Needs the GIL, leaves no exception. */
#ifndef HK_VALUES_SCALAR_H
#define HK_VALUES_SCALAR_H

#include <Python.h>
#include <stdbool.h>
#include <stddef.h>

/* Writes OBJECT to TEXT of BYTES, cut if it is longer: None, a bool, an int, a float, a str, a
 * dtype, a device, or a tuple or list of these. Returns false if it is none of them. */
bool hk_scalar_text(PyObject *object, char *text, size_t bytes);

#endif
