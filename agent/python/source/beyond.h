/* beyond.h: functions that CPython exports and the stable ABI of 3.8 lacks. WEAK ones are NULL in
 * the versions that do not have them. */
#ifndef HK_PYTHON_BEYOND_H
#define HK_PYTHON_BEYOND_H

#include <Python.h>

/* all versions; of the stable ABI since 3.10 */
const char *PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *ret_bytes);

/* all versions, the state only since 3.9: a call that asks no vectorcall */
PyObject *_PyObject_MakeTpCall(PyThreadState *state, PyObject *callable, PyObject *const *arguments,
			       Py_ssize_t count, PyObject *names) __attribute__((weak));
PyObject *hk_make_call_of_3_8(PyObject *callable, PyObject *const *arguments, Py_ssize_t count,
			      PyObject *names) __asm__("_PyObject_MakeTpCall")
    __attribute__((weak));

/* up to 3.12: the vectorcall of a function that is written in Python */
PyObject *_PyFunction_Vectorcall(PyObject *function, PyObject *const *arguments, size_t count,
				 PyObject *names) __attribute__((weak));

/* since 3.12: changes it, and keeps specialised code from going around it */
typedef PyObject *(*hk_vectorcall)(PyObject *, PyObject *const *, size_t, PyObject *);
void PyFunction_SetVectorcall(PyObject *function, hk_vectorcall call) __attribute__((weak));

/* since 3.9: what evaluates Python frames; NULL in the interpreter stands for the default */
struct hk_frame;
typedef PyObject *(*hk_evaluator)(PyThreadState *, struct hk_frame *, int);
hk_evaluator _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState *) __attribute__((weak));
void _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState *, hk_evaluator) __attribute__((weak));
PyObject *_PyEval_EvalFrameDefault(PyThreadState *, struct hk_frame *, int) __attribute__((weak));
PyInterpreterState *PyInterpreterState_Get(void) __attribute__((weak));

#endif
