/* ask.h: attributes and methods of a framework's objects, by name. All functions need the GIL and
 * leave no exception.
 *
 * Where the class defines them in C and nothing of Python's goes between, the C function is called
 * itself: a tensor is asked for a dozen, and to look each up takes longer than its answer. */
#ifndef HK_VALUES_ASK_H
#define HK_VALUES_ASK_H

#include <Python.h>

enum hk_name {
	HK_NAME_DATA_PTR,
	HK_NAME_DTYPE,
	HK_NAME_SHAPE,
	HK_NAME_STRIDE,
	HK_NAME_STORAGE_OFFSET,
	HK_NAME_REQUIRES_GRAD,
	HK_NAME_VERSION,
	HK_NAME_LAYOUT,
	HK_NAME_IS_CPU,
	HK_NAME_DEVICE,
	HK_NAME_IS_VIEW,
	HK_NAME_IS_NEG,
	HK_NAME_STORAGE,
	HK_NAME_OLD_STORAGE,
	HK_NAME_NBYTES,
	HK_NAME_GRAD_FN,
	HK_NAME_OUTPUT_NR,
	HK_NAME_NEXT,
	HK_NAME_VARIABLE,
	HK_NAME_REGISTER,
	HK_NAME_ENTER,
	HK_NAME_EXIT,
	HK_NAMES
};

/* The interned text of NAME, borrowed, or NULL. */
PyObject *hk_name(enum hk_name name);

/* The attribute NAME of OBJECT, a new reference, or NULL. */
PyObject *hk_get(PyObject *object, enum hk_name name);

/* What METHOD of OBJECT returns without arguments, a new reference, or NULL. */
PyObject *hk_ask(PyObject *object, enum hk_name method);

#endif
