/* tracer_evaluator.h: the tracer up to CPython 3.11: a frame evaluator.
 *
 * It runs around each evaluation of a Python frame, on all threads of the main interpreter. An
 * evaluation is then a call in C, so it raises RecursionError where the thread's stack ends. It
 * sees no return of a frame that was open when it was installed: such calls end when the next
 * function on the thread begins and finds them gone, at stop, or with the thread.
 */
#ifndef HK_PYTHON_TRACER_EVALUATOR_H
#define HK_PYTHON_TRACER_EVALUATOR_H

#include <Python.h>

/* Checks where this build of CPython keeps what the evaluator reads of a frame, with calls of
 * FUNCTION and GENERATOR, Python functions of one argument that return and yield it. Returns 0, or
 * -1 with an exception that says what does not fit. */
int hk_tracer_evaluator_check(PyObject *function, PyObject *generator);

/* Installs the evaluator in front of the one that is there. Does nothing if it is installed. */
void hk_tracer_evaluator_install(void);

/* Removes it. If another evaluator was installed in front of it, it stays and only passes on. */
void hk_tracer_evaluator_remove(void);

#endif
