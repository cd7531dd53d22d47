#include "tracer_state.h"

#include "agent.h"
#include "apis.h"
#include "beyond.h"
#include "part.h"
#include "tracer_calls.h"
#include "tracer_evaluator.h"
#include "tracer_module.h"
#include "tracer_monitor.h"
#include "tracer_site.h"
#include "tracer_thread.h"

struct hk_tracer hk_tracer = {.extra = -1};

static bool is_monitored(void)
{
	return hk_tracer.version >= 0x030c;
}

static bool is_main_interpreter(void)
{
	PyInterpreterState *here =
	    PyInterpreterState_Get ? PyInterpreterState_Get() : _PyInterpreterState_Get();

	return here == PyInterpreterState_Main();
}

/* Returns 0 if this process can be traced at all, or -1 with an exception. */
static int check_place(void)
{
	if (!hk_agent.hk_site_define || !hk_agent.hk_enter || !hk_agent.hk_leave) {
		PyErr_SetString(
		    PyExc_RuntimeError,
		    "cannot trace Python functions: no agent (hooktrace.start() loads it)");
		return -1;
	}
	if (!is_main_interpreter()) {
		PyErr_SetString(PyExc_RuntimeError, "cannot trace Python functions: this is a "
						    "sub-interpreter, and only the main one is "
						    "traced");
		return -1;
	}
	return 0;
}

/* tracer_check(version, code, fixed_bytes, function, generator, list_append, bound): see the checks
 * of tracer_site.h, tracer_evaluator.h and tracer_calls.h. VERSION is 0x030b for 3.11. Returns
 * whether calls of functions in C can be traced. */
static PyObject *tracer_check(PyObject *module, PyObject *arguments)
{
	PyObject *code, *function, *generator, *list_append, *bound;
	Py_ssize_t fixed_bytes;

	if (!PyArg_ParseTuple(arguments, "IOnOOOO", &hk_tracer.version, &code, &fixed_bytes,
			      &function, &generator, &list_append, &bound) ||
	    check_place() < 0 || hk_tracer_site_check(code, (size_t)fixed_bytes) < 0) {
		return NULL;
	}
	if (!is_monitored() && hk_tracer_evaluator_check(function, generator) < 0) {
		return NULL;
	}
	hk_tracer_calls_own(module);
	return PyBool_FromLong(hk_tracer_calls_check(list_append, bound));
}

static PyObject *tracer_callbacks(PyObject *module, PyObject *disable)
{
	(void)module;
	return hk_tracer_monitor_callbacks(disable);
}

/* tracer_configure(prefixes, include, exclude, own, c_calls, modules, noter): see tracer_site.h,
 * tracer_state.h and tracer_module.h. NOTER is a function or None. */
static PyObject *tracer_configure(PyObject *module, PyObject *arguments)
{
	PyObject *prefixes, *include, *exclude, *own;
	PyObject *noter;
	int c_calls, modules;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "O!O!O!UppO", &PyTuple_Type, &prefixes, &PyTuple_Type,
			      &include, &PyTuple_Type, &exclude, &own, &c_calls, &modules,
			      &noter) ||
	    hk_tracer_site_configure(prefixes, include, exclude, own) < 0) {
		return NULL;
	}
	hk_tracer.c_calls = c_calls;
	hk_tracer.modules = modules;
	hk_tracer.parameters = noter != Py_None;
	hk_tracer_module_note_by(noter == Py_None ? NULL : noter);
	Py_RETURN_NONE;
}

static void new_period(void)
{
	hk_tracer.period++;
	hk_tracer_thread_run_none();
}

/* tracer_begin(): functions are traced from now on, in all threads. */
static PyObject *tracer_begin(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	if (check_place() < 0) {
		return NULL;
	}
	new_period();
	hk_tracer.on = true;
	struct hk_tracer_thread *thread = hk_tracer_thread_get();
	if (thread) {
		hk_tracer_thread_join(thread, (PyObject *)PyEval_GetFrame());
	}
	if (!is_monitored()) {
		hk_tracer_evaluator_install();
		hk_tracer_calls_meet();
	}
	Py_RETURN_NONE;
}

/* tracer_end(): and no longer. Ends what is open of this thread. */
static PyObject *tracer_end(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	if (!hk_tracer.on) {
		Py_RETURN_NONE;
	}
	if (!is_monitored()) {
		hk_tracer_evaluator_remove();
		hk_api_evaluator_keep();
		hk_tracer_calls_part();
	}
	hk_tracer.on = false;
	new_period();
	if (hk_tracer_current) {
		hk_tracer_thread_leave(hk_tracer_current);
	}
	Py_RETURN_NONE;
}

/* tracer_forked(): this process is a forked child, and new threads may be where the parent's were.
 */
static PyObject *tracer_forked(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	hk_tracer_thread_run_none();
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"tracer_check", tracer_check, METH_VARARGS, NULL},
    {"tracer_callbacks", tracer_callbacks, METH_O, NULL},
    {"tracer_configure", tracer_configure, METH_VARARGS, NULL},
    {"tracer_begin", tracer_begin, METH_NOARGS, NULL},
    {"tracer_end", tracer_end, METH_NOARGS, NULL},
    {"tracer_forked", tracer_forked, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int hk_tracer_add(PyObject *module)
{
	return PyModule_AddFunctions(module, methods);
}
