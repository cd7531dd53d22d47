/* tracer_state.h: the tracer of Python functions, as its files see it.
 *
 * Up to CPython 3.11 it is a frame evaluator (PEP 523, tracer_evaluator.c), from 3.12 on it is a
 * tool of sys.monitoring (tracer_monitor.c). Both turn code objects into the agent's sites
 * (tracer_site.h) and keep what is open on a thread (tracer_thread.h). Only the main interpreter is
 * traced. All functions need the GIL, which also guards the state below.
 */
#ifndef HK_PYTHON_TRACER_STATE_H
#define HK_PYTHON_TRACER_STATE_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#define HK_LIKELY(x) __builtin_expect(!!(x), 1)
#define HK_UNLIKELY(x) __builtin_expect(!!(x), 0)

struct hk_tracer {
	bool on;
	bool c_calls;	 /* calls of functions written in C, too */
	bool modules;	 /* calls of torch.nn.Module are named for the instance */
	bool parameters; /* modules and optimizers are noted */
	uint32_t period; /* counts starts and stops; a thread compares it with its own */
	uint32_t
	    plain; /* low half of the mark of a code object that needs no look (tracer_site.h) */
	Py_ssize_t extra;  /* index of the mark among a code object's extras, -1: none yet */
	size_t extra_at;   /* offset in a code object of the pointer to its extras, 0: not known */
	size_t extra_slot; /* offset of the mark among these */
	PyObject *disable; /* sys.monitoring.DISABLE, from 3.12 on */
	unsigned version;  /* of the interpreter: 0x030b is 3.11 */
};

extern struct hk_tracer hk_tracer;

#endif
