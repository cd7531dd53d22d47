#include "tracer_calls.h"

#include <stdbool.h>

#include "agent.h"
#include "beyond.h"
#include "tracer_map.h"
#include "tracer_site.h"
#include "tracer_state.h"
#include "tracer_thread.h"

/* PyCFunctionObject.m_ml and PyMethodDescrObject.d_method */
#define FUNCTION_DEFINITION 16
#define METHOD_DEFINITION 40

static PyTypeObject *function_type, *method_type;
static PyObject *own;
static struct hk_map marks; /* by PyMethodDef; as of tracer_site.h */

static uintptr_t word_at(PyObject *object, size_t offset)
{
	return *(const uintptr_t *)((const char *)object + offset);
}

int hk_tracer_calls_check(PyObject *list_append, PyObject *bound)
{
	if (word_at(list_append, METHOD_DEFINITION) != word_at(bound, FUNCTION_DEFINITION)) {
		return 0;
	}
	method_type = Py_TYPE(list_append);
	function_type = Py_TYPE(bound);
	return 1;
}

void hk_tracer_calls_own(PyObject *module)
{
	own = module;
}

/* Returns the PyMethodDef of CALLABLE, or 0 if it is no function in C that is traced. */
static uintptr_t definition_of(PyObject *callable)
{
	if (Py_TYPE(callable) == function_type || Py_TYPE(callable) == &PyCMethod_Type) {
		return PyCFunction_GetSelf(callable) == own
			   ? 0
			   : word_at(callable, FUNCTION_DEFINITION);
	}
	return Py_TYPE(callable) == method_type ? word_at(callable, METHOD_DEFINITION) : 0;
}

static uint32_t site_of(PyObject *callable, uintptr_t definition)
{
	PyObject *type, *value, *traceback;
	uint64_t *mark = hk_map_at(&marks, definition);

	if (!mark) {
		return HK_NO_SITE;
	}
	if (hk_mark_kind(*mark) != hk_tracer.plain) {
		PyErr_Fetch(&type, &value, &traceback);
		*mark = (uint64_t)hk_tracer_site_callable(callable) << 32 | hk_tracer.plain;
		PyErr_Restore(type, value, traceback);
	}
	return hk_mark_site(*mark);
}

void hk_tracer_calls_begin(PyObject *callable)
{
	struct hk_tracer_thread *thread = hk_tracer_current;
	uintptr_t definition = definition_of(callable);

	if (!thread || thread->period != hk_tracer.period || !definition) {
		return;
	}
	if (thread->outer > 0 && thread->depth == 0 && hk_tracer.version < 0x030c) {
		hk_tracer_thread_trim(thread, (PyObject *)PyEval_GetFrame());
	}
	uint32_t site = site_of(callable, definition);
	if (site != HK_NO_SITE) {
		hk_tracer_thread_push(thread, definition | 1, site);
	}
}

void hk_tracer_calls_end(PyObject *callable, int failed)
{
	struct hk_tracer_thread *thread = hk_tracer_current;
	uintptr_t definition = definition_of(callable);

	if (thread && thread->period == hk_tracer.period && definition) {
		hk_tracer_thread_pop(thread, definition | 1, failed);
	}
}

/* ---- up to 3.11 ---- */

static int profile(PyObject *object, PyObject *frame, int event, PyObject *callable)
{
	(void)object;
	(void)frame;
	if (HK_UNLIKELY(!hk_tracer.on || !hk_tracer.c_calls)) {
		PyEval_SetProfile(NULL, NULL);
	} else if (event == HK_TRACE_C_CALL) {
		hk_tracer_calls_begin(callable);
	} else if (event == HK_TRACE_C_RETURN || event == HK_TRACE_C_EXCEPTION) {
		hk_tracer_calls_end(callable, event == HK_TRACE_C_EXCEPTION);
	}
	return 0;
}

/* Whether the thread has a profile function of the user's. Ours has no object, which reads None. */
static bool has_profile(void)
{
	PyObject *ask = PySys_GetObject("getprofile"); /* borrowed */
	PyObject *answer = ask ? PyObject_CallFunctionObjArgs(ask, NULL) : NULL;
	bool has = answer && answer != Py_None;

	PyErr_Clear();
	Py_XDECREF(answer);
	return has;
}

void hk_tracer_calls_meet(void)
{
	PyObject *type, *value, *traceback;

	if (!hk_tracer.c_calls) {
		return;
	}
	PyErr_Fetch(&type, &value, &traceback);
	if (!has_profile()) {
		PyEval_SetProfile(profile, NULL);
		PyErr_Clear();
	}
	PyErr_Restore(type, value, traceback);
}

void hk_tracer_calls_part(void)
{
	if (hk_tracer.c_calls && !has_profile()) {
		PyEval_SetProfile(NULL, NULL);
		PyErr_Clear();
	}
}
