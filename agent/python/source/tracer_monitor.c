#include "tracer_monitor.h"

#include <stddef.h>
#include <structmember.h>

#include "agent.h"
#include "beyond.h"
#include "tracer.h"
#include "tracer_calls.h"
#include "tracer_module.h"
#include "tracer_site.h"
#include "tracer_thread.h"

#define HAVE_VECTORCALL (1UL << 11) /* Py_TPFLAGS_HAVE_VECTORCALL, later than this stable ABI */

struct callback {
	PyObject_HEAD;
	hk_vectorcall function;
};

/* None and DISABLE do not count references from 3.12 on, but other builds may. */
static inline PyObject *none(void)
{
	Py_INCREF(Py_None);
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
	return thread;
}

/* Returns the site of the module that the current frame calls, or OTHERWISE. */
static uint32_t module_site(uint32_t otherwise)
{
	PyObject *frame = (PyObject *)PyEval_GetFrame(); /* borrowed */
	PyObject *self = frame ? PyFrame_GetVarString(frame, "self") : NULL;
	uint32_t site = hk_tracer_module_site(self, otherwise);

	PyErr_Clear();
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
	uint32_t site = hk_mark_site(mark);
	if (mark & HK_MARK_MODULE) {
		site = module_site(site);
	}
	hk_tracer_thread_push(thread, (uintptr_t)code, site);
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
	struct hk_tracer_thread *thread = hk_tracer_current;
	void *mark = NULL;

	PyUnstable_Code_GetExtra(code, hk_tracer.extra, &mark);
	if (HK_UNLIKELY(!thread || thread->period != hk_tracer.period ||
			thread->top == thread->end ||
			hk_mark_kind((uintptr_t)mark) != hk_tracer.plain)) {
		return begin_slowly(code, may_disable);
	}
	struct hk_tracer_call *call = thread->top++;
	call->key = (uintptr_t)code;
	hk_agent.hk_enter(&call->open, hk_mark_site((uintptr_t)mark));
	return none();
}

static inline PyObject *end(PyObject *code, int failed, bool may_disable)
{
	struct hk_tracer_thread *thread = hk_tracer_current;

	if (HK_UNLIKELY(!thread || thread->period != hk_tracer.period ||
			thread->top == thread->begin || thread->top[-1].key != (uintptr_t)code)) {
		return end_slowly(code, failed, may_disable);
	}
	thread->top--;
	hk_agent.hk_leave(&thread->top->open, failed);
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
CALLBACK(call, (hk_tracer_calls_begin(arguments[2]), none()))
CALLBACK(call_returned, (hk_tracer_calls_end(arguments[2], 0), none()))
CALLBACK(call_raised, (hk_tracer_calls_end(arguments[2], 1), none()))

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
