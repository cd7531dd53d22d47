/* tracer_thread.h: what is open on a thread, as far as the C stack does not hold it.
 *
 * A thread's record is made when the tracer first meets the thread and freed when the thread ends.
 * It holds a stack of open calls, in blocks that do not move: all calls from CPython 3.12 on; calls
 * of C functions, and frames that were open when tracing began, in all versions. A thread uses its
 * own record only, and with the GIL.
 */
#ifndef HK_PYTHON_TRACER_THREAD_H
#define HK_PYTHON_TRACER_THREAD_H

#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent.h"
#include "stack.h"
#include "tracer_state.h"

/* An open call. KEY is its code object (from 3.12 on) or frame, or its PyMethodDef plus 1. None of
 * these is read. */
struct hk_tracer_call {
	struct hk_open open;
	uintptr_t key;
};

#define HK_BLOCK_CALLS 512

struct hk_tracer_block {
	struct hk_tracer_block *outer, *inner; /* the blocks before and after this one, or NULL */
	struct hk_tracer_call calls[HK_BLOCK_CALLS];
};

struct hk_tracer_thread {
	struct hk_tracer_call *top, *begin, *end; /* of the innermost block; TOP is free */
	struct hk_tracer_block *block;
	uint32_t period; /* hk_tracer.period when this thread took part last */
	/* only up to 3.11 */
	uint32_t depth; /* evaluations of this period under way */
	uint32_t outer; /* frames on the stack of calls */
	struct hk_stack stack;
	struct hk_open base;		 /* the evaluation at depth 0 */
	struct hk_tracer_call *base_top; /* TOP when it began */
};

extern __thread struct hk_tracer_thread *hk_tracer_current __attribute__((visibility("hidden")));

/* The thread that the tracer met last: its thread pointer, or 0 if it does not take part in this
 * period or has ended; and its record. By these the holder of the GIL knows whether it is that
 * thread, in less time than a variable of the thread takes. */
struct hk_tracer_runner {
	uintptr_t pointer;
	struct hk_tracer_thread *thread;
};

extern struct hk_tracer_runner hk_tracer_runner __attribute__((visibility("hidden")));

/* Returns what no other thread has as long as this one lives. */
static inline uintptr_t hk_thread_pointer(void)
{
#if defined(__x86_64__)
	uintptr_t pointer;
	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	return pointer;
#else
	return (uintptr_t)__builtin_thread_pointer();
#endif
}

/* Returns this thread's record if the tracer met this thread last and it takes part, or NULL. */
static inline struct hk_tracer_thread *hk_tracer_thread_running(void)
{
	return hk_tracer_runner.pointer == hk_thread_pointer() ? hk_tracer_runner.thread : NULL;
}

/* The tracer meets this thread, whose record is THREAD, and which takes part. */
void hk_tracer_thread_run(struct hk_tracer_thread *thread);

/* No thread is the one that the tracer met last: another period begins, or the process forked. */
void hk_tracer_thread_run_none(void);

/* Returns this thread's record, or NULL if there is no memory for one. */
struct hk_tracer_thread *hk_tracer_thread_get(void);

/* A call of SITE begins, or does not if there is no memory. */
void hk_tracer_thread_push(struct hk_tracer_thread *thread, uintptr_t key, uint32_t site);

/* Ends the innermost call of KEY, and those within it. Returns false if there is none. */
bool hk_tracer_thread_pop(struct hk_tracer_thread *thread, uintptr_t key, int failed);

/* Returns the innermost call, or NULL. */
struct hk_tracer_call *hk_tracer_thread_top(struct hk_tracer_thread *thread);

/* Takes part in this period: ends what is open of another one, and begins calls of the frames that
 * are open on the thread, from FRAME outwards. FRAME may be NULL. */
void hk_tracer_thread_join(struct hk_tracer_thread *thread, PyObject *frame);

/* Ends what is open of the thread. */
void hk_tracer_thread_leave(struct hk_tracer_thread *thread);

/* Up to 3.11: ends the calls of frames that are no longer open. FRAME is the innermost open one. */
void hk_tracer_thread_trim(struct hk_tracer_thread *thread, PyObject *frame);

#endif
