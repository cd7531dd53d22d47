/* tracer_calls.h: calls of functions written in C, if the user wants them.
 *
 * Up to CPython 3.11 a profile function of each thread sees them, from 3.12 on events of
 * sys.monitoring. A function is known by its PyMethodDef. All functions need the GIL and keep a
 * pending exception.
 */
#ifndef HK_PYTHON_TRACER_CALLS_H
#define HK_PYTHON_TRACER_CALLS_H

#include <Python.h>
#include <stdint.h>

/* Checks where this build of CPython keeps the PyMethodDef of a function and of a method, with
 * LIST_APPEND, list.append, and BOUND, the same of a list. Returns whether that is known. */
int hk_tracer_calls_check(PyObject *list_append, PyObject *bound);

/* Calls of the extension's own functions, whose self is MODULE, are left out. */
void hk_tracer_calls_own(PyObject *module);

/* CALLABLE is called, and has returned or raised. Anything but a function in C is ignored. */
void hk_tracer_calls_begin(PyObject *callable);
void hk_tracer_calls_end(PyObject *callable, int failed);

/* Up to 3.11: this thread's calls are seen from now on, unless it has a profile function. */
void hk_tracer_calls_meet(void);

/* Up to 3.11: this thread's calls are not seen any more. */
void hk_tracer_calls_part(void);

#endif
