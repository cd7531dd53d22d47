#include "tracer_monitor.h"

#include <stddef.h>
#include <structmember.h>

#include "agent.h"
#include "beyond.h"
#include "tracer_calls.h"
#include "tracer_module.h"
#include "tracer_site.h"
#include "tracer_state.h"
#include "tracer_thread.h"

#define HAVE_VECTORCALL (1UL << 11) /* Py_TPFLAGS_HAVE_VECTORCALL, later than this stable ABI */

struct callback {
	PyObject_HEAD;
	hk_vectorcall function;
};

/* From 3.12 on Py_None is immortal, so its references need not be counted. */
static inline PyObject *none(void)
{
	return Py_None;
}

/* The same event at the same place need not be seen again. */
static PyObject *never_again(void)
{
	Py_INCREF(hk_tracer.disable);
	return hk_tracer.disable;
}

/* Makes this thread take part. IS_OPEN: the current frame is open already. Returns NULL if this
 * thread is not traced. */
static struct hk_tracer_thread *join(bool is_open)
{
	struct hk_tracer_thread *thread = hk_tracer_thread_get();

	if (!thread || !hk_tracer.on) {
		return NULL;
	}
	if (thread->period != hk_tracer.period) {
		PyObject *frame = (PyObject *)PyEval_GetFrame(); /* borrowed */
		PyObject *back = frame && !is_open ? PyObject_GetAttrString(frame, "f_back") : NULL;
		hk_tracer_thread_join(thread, is_open ? frame : back == Py_None ? NULL : back);
		Py_XDECREF(back);
	}
	hk_tracer_thread_run(thread);
	return thread;
}

/* Returns the site of what the current frame, whose mark is MARK, calls. */
static uint32_t site_of(uint64_t mark)
{
	uint32_t site = hk_mark_site(mark);

	if (!(mark & (HK_MARK_MODULE | HK_MARK_STEP))) {
		return site;
	}
	PyObject *frame = (PyObject *)PyEval_GetFrame(); /* borrowed */
	PyObject *self = frame ? PyFrame_GetVarString(frame, "self") : NULL;

	PyErr_Clear();
	if (mark & HK_MARK_STEP) {
		hk_tracer_module_step(self);
	} else {
		site = hk_tracer_module_site(self, site);
	}
	Py_XDECREF(self);
	return site;
}

static __attribute__((noinline)) PyObject *begin_slowly(PyObject *code, bool may_disable)
{
	struct hk_tracer_thread *thread = join(false);
	uint64_t mark = thread ? hk_tracer_site_mark(code) : HK_MARK_SKIP;

	if (mark & HK_MARK_SKIP) {
		return thread && may_disable ? never_again() : none();
	}
	hk_tracer_thread_push(thread, (uintptr_t)code, site_of(mark));
	return none();
}

static __attribute__((noinline)) PyObject *end_slowly(PyObject *code, int failed, bool may_disable)
{
	struct hk_tracer_thread *thread = join(true);

	if (!thread || hk_tracer_thread_pop(thread, (uintptr_t)code, failed)) {
		return none();
	}
	return may_disable && (hk_tracer_site_mark(code) & HK_MARK_SKIP) ? never_again() : none();
}

static inline PyObject *begin(PyObject *code, bool may_disable)
{
	struct hk_tracer_thread *thread = hk_tracer_thread_running();
	uint64_t mark = hk_tracer_site_read_mark(code);

	if (HK_UNLIKELY(!thread || thread->top == thread->end ||
			hk_mark_kind(mark) != hk_tracer.plain)) {
		return begin_slowly(code, may_disable);
	}
	struct hk_tracer_call *call = thread->top++;
	call->key = (uintptr_t)code;
	hk_agent.hk_enter(&call->open, hk_mark_site(mark));
	return none();
}

static inline PyObject *end(PyObject *code, int failed, bool may_disable)
{
	struct hk_tracer_thread *thread = hk_tracer_thread_running();

	if (HK_UNLIKELY(!thread || thread->top == thread->begin ||
			thread->top[-1].key != (uintptr_t)code)) {
		return end_slowly(code, failed, may_disable);
	}
	thread->top--;
	hk_agent.hk_leave(&thread->top->open, failed);
	return none();
}

/* A C function is called, perhaps as the first that is seen of this thread. */
static PyObject *begin_call(PyObject *callable)
{
	if (HK_UNLIKELY(!hk_tracer_current || hk_tracer_current->period != hk_tracer.period)) {
		join(true);
	}
	hk_tracer_calls_begin(callable);
	return none();
}

static PyObject *end_call(PyObject *callable, int failed)
{
	hk_tracer_calls_end(callable, failed);
	return none();
}

/* Each callback's first argument is the code object, that of calls' third what is called. */
#define CALLBACK(name, expression)                                                      \
	static PyObject *name(PyObject *self, PyObject *const *arguments, size_t count, \
			      PyObject *names)                                          \
	{                                                                               \
		(void)self;                                                             \
		(void)count;                                                            \
		(void)names;                                                            \
		return expression;                                                      \
	}

CALLBACK(start, begin(arguments[0], true))
CALLBACK(throw, begin(arguments[0], false))
CALLBACK(leave, end(arguments[0], 0, true))
CALLBACK(unwind, end(arguments[0], 1, false))
CALLBACK(call, begin_call(arguments[2]))
CALLBACK(call_returned, end_call(arguments[2], 0))
CALLBACK(call_raised, end_call(arguments[2], 1))

static const struct {
	const char *event;
	hk_vectorcall function;
} callbacks[] = {
    {"PY_START", start},  {"PY_RESUME", start},	       {"PY_THROW", throw},
    {"PY_RETURN", leave}, {"PY_YIELD", leave},	       {"PY_UNWIND", unwind},
    {"CALL", call},	  {"C_RETURN", call_returned}, {"C_RAISE", call_raised},
};

static PyObject *new_type(void)
{
	static PyMemberDef members[] = {
	    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct callback, function), READONLY,
	     NULL},
	    {NULL, 0, 0, 0, NULL},
	};
	static PyType_Slot slots[] = {
	    {Py_tp_members, members},
	    {Py_tp_call, (void *)PyVectorcall_Call},
	    {0, NULL},
	};
	static PyType_Spec spec = {
	    .name = "hooktrace._native.Callback",
	    .basicsize = sizeof(struct callback),
	    .flags = Py_TPFLAGS_DEFAULT | HAVE_VECTORCALL,
	    .slots = slots,
	};
	return PyType_FromSpec(&spec);
}

PyObject *hk_tracer_monitor_callbacks(PyObject *disable)
{
	PyObject *type = new_type();
	PyObject *dict = type ? PyDict_New() : NULL;

	for (size_t i = 0; dict && i < sizeof(callbacks) / sizeof(callbacks[0]); i++) {
		struct callback *callback = PyObject_New(struct callback, (PyTypeObject *)type);
		if (callback) {
			callback->function = callbacks[i].function;
		}
		if (!callback ||
		    PyDict_SetItemString(dict, callbacks[i].event, (PyObject *)callback) < 0) {
			Py_CLEAR(dict);
		}
		Py_XDECREF((PyObject *)callback);
	}
	Py_XDECREF(type);
	Py_INCREF(disable);
	hk_tracer.disable = disable;
	return dict;
}
