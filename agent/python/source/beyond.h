/* beyond.h: functions that CPython exports and the stable ABI of 3.8 lacks. WEAK ones are NULL in
 * the versions that do not have them. */
#ifndef HK_PYTHON_BEYOND_H
#define HK_PYTHON_BEYOND_H

#include <Python.h>
#include <pthread.h>

/* all versions; of the stable ABI since 3.10 */
const char *PyUnicode_AsUTF8AndSize(PyObject *text, Py_ssize_t *ret_bytes);

#define HK_WEAK __attribute__((weak))

/* the interpreter of the thread that has the GIL: 3.8; 3.9 and later; and the main one */
PyInterpreterState *_PyInterpreterState_Get(void) HK_WEAK;
PyInterpreterState *PyInterpreterState_Get(void) HK_WEAK;
PyInterpreterState *PyInterpreterState_Main(void);

/* Frame evaluators (PEP 523). Their type differs: hk_evaluate_38 in 3.8, hk_evaluate since. */
typedef PyObject *(*hk_evaluate_38)(void *frame, int throwing);
typedef PyObject *(*hk_evaluate)(PyThreadState *thread, void *frame, int throwing);
void _PyEval_EvalFrameDefault(void) HK_WEAK;
/* 3.9 and later */
void _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState *interpreter,
					  hk_evaluate function) HK_WEAK;
hk_evaluate _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState *interpreter) HK_WEAK;

/* Values that travel with a code object: up to 3.11, and 3.12 and later. The getters and setters
 * return 0, or -1 with an exception. */
Py_ssize_t _PyEval_RequestCodeExtraIndex(void (*release)(void *)) HK_WEAK;
int _PyCode_GetExtra(PyObject *code, Py_ssize_t index, void **ret_value) HK_WEAK;
int _PyCode_SetExtra(PyObject *code, Py_ssize_t index, void *value) HK_WEAK;
Py_ssize_t PyUnstable_Eval_RequestCodeExtraIndex(void (*release)(void *)) HK_WEAK;
int PyUnstable_Code_GetExtra(PyObject *code, Py_ssize_t index, void **ret_value) HK_WEAK;
int PyUnstable_Code_SetExtra(PyObject *code, Py_ssize_t index, void *value) HK_WEAK;

/* all versions: FUNCTION sees events of this thread; EVENT is a HK_TRACE_ value or another one */
typedef int (*hk_profile)(PyObject *object, PyObject *frame, int event, PyObject *argument);
void PyEval_SetProfile(hk_profile function, PyObject *object);
enum { HK_TRACE_C_CALL = 4, HK_TRACE_C_EXCEPTION = 5, HK_TRACE_C_RETURN = 6 };

/* all versions: tp_call of a type with a vectorcall function */
typedef PyObject *(*hk_vectorcall)(PyObject *callable, PyObject *const *arguments, size_t count,
				   PyObject *names);
PyObject *PyVectorcall_Call(PyObject *callable, PyObject *tuple, PyObject *names);

/* 3.9 and later: functions in C that know their class */
extern PyTypeObject PyCMethod_Type HK_WEAK;

/* 3.12 and later: a new reference to the value of a local variable, or NULL with an exception */
PyObject *PyFrame_GetVarString(PyObject *frame, const char *name) HK_WEAK;

/* Frames: new references to the calling frame, or NULL, and to the code (3.9 and later); the
 * instruction's place in it (3.11 and later). */
PyObject *PyFrame_GetBack(PyObject *frame) HK_WEAK;
PyObject *hk_frame_code(PyObject *frame) __asm__("PyFrame_GetCode") HK_WEAK;
int PyFrame_GetLasti(PyObject *frame) HK_WEAK;

/* all versions, the state only since 3.9: a call that asks no vectorcall */
PyObject *_PyObject_MakeTpCall(PyThreadState *state, PyObject *callable, PyObject *const *arguments,
			       Py_ssize_t count, PyObject *names) HK_WEAK;
PyObject *hk_make_call_of_3_8(PyObject *callable, PyObject *const *arguments, Py_ssize_t count,
			      PyObject *names) __asm__("_PyObject_MakeTpCall") HK_WEAK;

/* up to 3.12: the vectorcall of a function that is written in Python */
PyObject *_PyFunction_Vectorcall(PyObject *function, PyObject *const *arguments, size_t count,
				 PyObject *names) HK_WEAK;

/* 3.12 and later: changes it, and keeps specialised code from going around it */
void PyFunction_SetVectorcall(PyObject *function, hk_vectorcall call) HK_WEAK;

/* Functions of threads by the versions that glibc 2.17 has: newer glibcs have newer versions too.
 */
#ifdef __x86_64__
#define HK_GLIBC_OLDEST "GLIBC_2.2.5"
#else
#define HK_GLIBC_OLDEST "GLIBC_2.17"
#endif

__asm__(".symver pthread_key_create, pthread_key_create@" HK_GLIBC_OLDEST);
__asm__(".symver pthread_setspecific, pthread_setspecific@" HK_GLIBC_OLDEST);
__asm__(".symver pthread_getattr_np, pthread_getattr_np@" HK_GLIBC_OLDEST);
__asm__(".symver pthread_attr_getstack, pthread_attr_getstack@" HK_GLIBC_OLDEST);

#endif
