#include "tracer_evaluator.h"

#include <stddef.h>

#include "agent.h"
#include "beyond.h"
#include "tracer_calls.h"
#include "tracer_module.h"
#include "tracer_site.h"
#include "tracer_state.h"
#include "tracer_thread.h"

/* Where a PyFrameObject (up to 3.10) or _PyInterpreterFrame (3.11) keeps its code object, and
 * 3.11's says that a generator owns it. */
#define FRAME_CODE 32
#define FRAME_OWNER_311 69
#define OWNED_BY_GENERATOR 1
/* PyInterpreterState.eval_frame of 3.8. */
#define EVALUATOR_38 568
#define EARLIEST_39 0x0309

enum way { TRACED, UNTRACED, REFUSED };

static hk_evaluate next; /* the evaluator behind this one */
static bool installed;

static inline PyObject *code_of(const void *frame)
{
	return *(PyObject *const *)((const char *)frame + FRAME_CODE);
}

static size_t locals_offset(void)
{
	return hk_tracer.version == 0x030b ? 72 : hk_tracer.version == 0x030a ? 352 : 360;
}

static PyObject *first_local(const void *frame)
{
	return *(PyObject *const *)((const char *)frame + locals_offset());
}

static enum way refuse(void)
{
	hk_stack_refuse();
	return REFUSED;
}

/* The site of what MARK says, for a frame that is not plain; HK_NO_SITE: it is not traced. */
static uint32_t special_site(uint64_t mark, const void *frame)
{
	if ((mark & HK_MARK_SKIP) ||
	    ((mark & HK_MARK_GENERATOR) &&
	     ((const char *)frame)[FRAME_OWNER_311] != OWNED_BY_GENERATOR)) {
		return HK_NO_SITE;
	}
	if (mark & HK_MARK_STEP) {
		hk_tracer_module_step(first_local(frame));
	}
	if (mark & HK_MARK_MODULE) {
		return hk_tracer_module_site(first_local(frame), hk_mark_site(mark));
	}
	return hk_mark_site(mark);
}

/* What the first evaluations on a thread, in a period, and of a code object need. */
static __attribute__((noinline)) enum way prepare(const void *frame, uint32_t *ret_site)
{
	struct hk_tracer_thread *thread = hk_tracer_thread_get();

	if (!thread) {
		return UNTRACED;
	}
	if (hk_stack_is_short(&thread->stack)) {
		return refuse();
	}
	if (!hk_tracer.on) {
		return UNTRACED;
	}
	if (thread->period != hk_tracer.period) {
		hk_tracer_thread_join(thread, (PyObject *)PyEval_GetFrame());
		hk_tracer_calls_meet();
	}
	*ret_site = special_site(hk_tracer_site_mark(code_of(frame)), frame);
	if (*ret_site == HK_NO_SITE) {
		return UNTRACED;
	}
	if (thread->depth == 0 && thread->outer > 0) {
		hk_tracer_thread_trim(thread, (PyObject *)PyEval_GetFrame());
	}
	return TRACED;
}

static inline PyObject *pass_on(PyThreadState *state, void *frame, int throwing, bool old)
{
	return old ? ((hk_evaluate_38)(void *)next)(frame, throwing) : next(state, frame, throwing);
}

/* Whether the usual way will do for FRAME; if so, SITE is its site. */
static inline bool is_plain(const struct hk_tracer_thread *thread, const void *frame,
			    uint32_t *ret_site)
{
	if (HK_UNLIKELY(!thread || thread->period != hk_tracer.period ||
			hk_stack_is_short(&thread->stack) ||
			(thread->depth == 0 && thread->outer > 0))) {
		return false;
	}
	uint64_t mark = hk_tracer_site_read_mark(code_of(frame));
	*ret_site = hk_mark_site(mark);
	return hk_mark_kind(mark) == hk_tracer.plain;
}

/* A frame's evaluation ends in another period than it began in: its call has ended before. */
static __attribute__((noinline)) void end_late(struct hk_tracer_thread *thread)
{
	if (thread->outer > 0) {
		hk_tracer_thread_trim(thread, (PyObject *)PyEval_GetFrame());
	}
}

static inline __attribute__((always_inline)) PyObject *evaluate(PyThreadState *state, void *frame,
								int throwing, bool old)
{
	struct hk_tracer_thread *thread = hk_tracer_current;
	struct hk_open own, *open = &own;
	uint32_t site = 0;

	if (HK_UNLIKELY(!is_plain(thread, frame, &site))) {
		enum way way = prepare(frame, &site);
		if (way != TRACED) {
			return way == REFUSED ? NULL : pass_on(state, frame, throwing, old);
		}
		thread = hk_tracer_current;
	}
	uint32_t depth = thread->depth, period = thread->period;
	if (depth == 0) {
		open = &thread->base;
		thread->base_top = thread->top;
	}
	thread->depth = depth + 1;
	hk_agent.hk_enter(open, site);
	PyObject *result = pass_on(state, frame, throwing, old);
	if (HK_UNLIKELY(thread->period != period)) {
		end_late(thread);
		return result;
	}
	thread->depth = depth;
	hk_agent.hk_leave(open, result == NULL);
	return result;
}

static PyObject *evaluate_39(PyThreadState *state, void *frame, int throwing)
{
	return evaluate(state, frame, throwing, false);
}

static PyObject *evaluate_38(void *frame, int throwing)
{
	return evaluate(NULL, frame, throwing, true);
}

/* ---- installing ---- */

static hk_evaluate *slot_38(void)
{
	return (hk_evaluate *)((char *)PyInterpreterState_Main() + EVALUATOR_38);
}

static hk_evaluate default_evaluator(void)
{
	return (hk_evaluate)(void *)_PyEval_EvalFrameDefault;
}

static hk_evaluate current(void)
{
	if (hk_tracer.version < EARLIEST_39) {
		return *slot_38();
	}
	hk_evaluate function = _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Main());
	return function ? function : default_evaluator();
}

static void set(hk_evaluate function)
{
	if (hk_tracer.version < EARLIEST_39) {
		*slot_38() = function;
	} else {
		_PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Main(), function);
	}
}

static hk_evaluate own_evaluator(void)
{
	return hk_tracer.version < EARLIEST_39 ? (hk_evaluate)(void *)evaluate_38 : evaluate_39;
}

void hk_tracer_evaluator_install(void)
{
	hk_evaluate there = current();

	/* Another one in front of ours calls ours, unless the default one is back. */
	if (there == own_evaluator() || (installed && there != default_evaluator())) {
		return;
	}
	next = there;
	set(own_evaluator());
	installed = true;
}

void hk_tracer_evaluator_remove(void)
{
	if (current() == own_evaluator()) {
		set(next);
		installed = false;
	}
}

/* ---- checking ---- */

static struct {
	PyObject *code, *generator_code, *marker; /* borrowed */
	bool code_fits, local_fits, owner_fits;
	unsigned resumed;
} probe;

static void look(const void *frame)
{
	if (code_of(frame) == probe.code) {
		probe.code_fits = true;
		probe.local_fits = first_local(frame) == probe.marker;
	} else if (code_of(frame) == probe.generator_code && hk_tracer.version == 0x030b) {
		/* its creation, then its first resume */
		int wanted = probe.resumed++ ? OWNED_BY_GENERATOR : 0;
		probe.owner_fits =
		    probe.owner_fits && ((const char *)frame)[FRAME_OWNER_311] == wanted;
	}
}

static PyObject *look_39(PyThreadState *state, void *frame, int throwing)
{
	look(frame);
	return next(state, frame, throwing);
}

static PyObject *look_38(void *frame, int throwing)
{
	look(frame);
	return ((hk_evaluate_38)(void *)next)(frame, throwing);
}

/* Calls FUNCTION, and GENERATOR as far as its first value. Returns 0 or -1 with an exception. */
static int call_both(PyObject *function, PyObject *generator)
{
	PyObject *result = PyObject_CallFunctionObjArgs(function, probe.marker, NULL);
	PyObject *made =
	    result ? PyObject_CallFunctionObjArgs(generator, probe.marker, NULL) : NULL;
	PyObject *value = made ? PyIter_Next(made) : NULL;

	Py_XDECREF(result);
	Py_XDECREF(made);
	Py_XDECREF(value);
	return value ? 0 : -1;
}

static int look_at_calls(PyObject *function, PyObject *generator)
{
	next = current();
	set(hk_tracer.version < EARLIEST_39 ? (hk_evaluate)(void *)look_38 : look_39);
	int result = call_both(function, generator);
	set(next);
	if (result == 0 && !(probe.code_fits && probe.local_fits && probe.owner_fits)) {
		PyErr_SetString(
		    PyExc_RuntimeError,
		    "cannot trace Python functions: the frames of this build of CPython "
		    "are not known");
		return -1;
	}
	return result;
}

int hk_tracer_evaluator_check(PyObject *function, PyObject *generator)
{
	if (!_PyEval_EvalFrameDefault ||
	    (hk_tracer.version < EARLIEST_39 ? *slot_38() != default_evaluator()
					     : !_PyInterpreterState_SetEvalFrameFunc)) {
		PyErr_SetString(PyExc_RuntimeError,
				"cannot trace Python functions: no place for a frame evaluator in "
				"this build of CPython, or another tool has it");
		return -1;
	}
	PyObject *code = PyObject_GetAttrString(function, "__code__");
	PyObject *generator_code = code ? PyObject_GetAttrString(generator, "__code__") : NULL;
	PyObject *marker = generator_code ? PyLong_FromLong(123456789) : NULL;
	int result = -1;

	if (marker) {
		probe.code = code;
		probe.generator_code = generator_code;
		probe.marker = marker;
		probe.owner_fits = true;
		result = look_at_calls(function, generator);
	}
	Py_XDECREF(code);
	Py_XDECREF(generator_code);
	Py_XDECREF(marker);
	return result;
}
