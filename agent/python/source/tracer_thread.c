#include "tracer_thread.h"

#include <stdlib.h>

#include "beyond.h"
#include "tracer_site.h"

#define FRAMES_MAX 100000

__thread struct hk_tracer_thread *hk_tracer_current;
struct hk_tracer_runner hk_tracer_runner;

static pthread_key_t key;
static bool has_key;

void hk_tracer_thread_run(struct hk_tracer_thread *thread)
{
	hk_tracer_runner.thread = thread;
	__atomic_store_n(&hk_tracer_runner.pointer, hk_thread_pointer(), __ATOMIC_RELAXED);
}

void hk_tracer_thread_run_none(void)
{
	__atomic_store_n(&hk_tracer_runner.pointer, 0, __ATOMIC_RELAXED);
}

/* A later thread may have the same pointer. This one does not hold the GIL. */
static void run_no_more(void)
{
	uintptr_t pointer = hk_thread_pointer();

	__atomic_compare_exchange_n(&hk_tracer_runner.pointer, &pointer, 0, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
}

static void thread_ends(void *value)
{
	struct hk_tracer_thread *thread = value;
	struct hk_tracer_block *block = thread->block;

	run_no_more();

	while (block && block->outer) {
		block = block->outer;
	}
	while (block) {
		struct hk_tracer_block *inner = block->inner;
		free(block);
		block = inner;
	}
	free(thread);
	hk_tracer_current = NULL;
}

struct hk_tracer_thread *hk_tracer_thread_get(void)
{
	if (hk_tracer_current) {
		return hk_tracer_current;
	}
	if (!has_key) {
		if (pthread_key_create(&key, thread_ends) != 0) {
			return NULL;
		}
		has_key = true;
	}
	struct hk_tracer_thread *thread = calloc(1, sizeof(*thread));
	if (!thread || pthread_setspecific(key, thread) != 0) {
		free(thread);
		return NULL;
	}
	hk_stack_find(&thread->stack);
	hk_tracer_current = thread;
	return thread;
}

static void use_block(struct hk_tracer_thread *thread, struct hk_tracer_block *block)
{
	thread->block = block;
	thread->begin = block->calls;
	thread->end = block->calls + HK_BLOCK_CALLS;
}

static bool make_room(struct hk_tracer_thread *thread)
{
	struct hk_tracer_block *block = thread->block ? thread->block->inner : NULL;

	if (!block) {
		block = malloc(sizeof(*block));
		if (!block) {
			return false;
		}
		block->outer = thread->block;
		block->inner = NULL;
		if (thread->block) {
			thread->block->inner = block;
		}
	}
	use_block(thread, block);
	thread->top = thread->begin;
	return true;
}

void hk_tracer_thread_push(struct hk_tracer_thread *thread, uintptr_t call_key, uint32_t site)
{
	if (thread->top == thread->end && !make_room(thread)) {
		return;
	}
	thread->top->key = call_key;
	hk_agent.hk_enter(&thread->top->open, site);
	thread->top++;
}

struct hk_tracer_call *hk_tracer_thread_top(struct hk_tracer_thread *thread)
{
	if (thread->top == thread->begin) {
		if (!thread->block || !thread->block->outer) {
			return NULL;
		}
		use_block(thread, thread->block->outer);
		thread->top = thread->end;
	}
	return thread->top - 1;
}

static bool has_call(const struct hk_tracer_thread *thread, uintptr_t call_key)
{
	const struct hk_tracer_call *top = thread->top;

	for (const struct hk_tracer_block *block = thread->block; block;) {
		while (top > block->calls) {
			if ((--top)->key == call_key) {
				return true;
			}
		}
		block = block->outer;
		top = block ? block->calls + HK_BLOCK_CALLS : NULL;
	}
	return false;
}

bool hk_tracer_thread_pop(struct hk_tracer_thread *thread, uintptr_t call_key, int failed)
{
	if (!has_call(thread, call_key)) {
		return false;
	}
	for (;;) {
		struct hk_tracer_call *call = hk_tracer_thread_top(thread);
		bool found = call->key == call_key;
		thread->top--;
		hk_agent.hk_leave(&call->open, found ? failed : 0);
		if (found) {
			return true;
		}
	}
}

static bool leave_top(struct hk_tracer_thread *thread)
{
	struct hk_tracer_call *call = hk_tracer_thread_top(thread);

	if (!call) {
		return false;
	}
	thread->top--;
	hk_agent.hk_leave(&call->open, 0);
	return true;
}

void hk_tracer_thread_leave(struct hk_tracer_thread *thread)
{
	if (thread->depth > 0) {
		while (thread->top != thread->base_top && leave_top(thread)) {
		}
		hk_agent.hk_leave(&thread->base, 0); /* and the evaluations within it */
		thread->depth = 0;
	}
	while (leave_top(thread)) {
	}
	thread->outer = 0;
	thread->period = 0;
}

/* Returns the frame around FRAME, which it releases, or NULL. */
static PyObject *step_out(PyObject *frame)
{
	PyObject *back = PyObject_GetAttrString(frame, "f_back");

	Py_DECREF(frame);
	if (!back || back == Py_None) {
		PyErr_Clear();
		Py_XDECREF(back);
		return NULL;
	}
	return back;
}

static void push_frame(struct hk_tracer_thread *thread, PyObject *frame)
{
	PyObject *code = PyObject_GetAttrString(frame, "f_code");

	if (!code) {
		PyErr_Clear();
		return;
	}
	uint64_t mark = hk_tracer_site_mark(code);
	if (!(mark & HK_MARK_SKIP)) {
		bool by_code = hk_tracer.version >= 0x030c;
		thread->outer++;
		hk_tracer_thread_push(thread, (uintptr_t)(by_code ? code : frame),
				      hk_mark_site(mark));
	}
	Py_DECREF(code);
}

/* Begins calls of FRAME, which it releases, and of the frames around it, outermost first. */
static void push_frames(struct hk_tracer_thread *thread, PyObject *frame)
{
	PyObject **frames = NULL;
	size_t count = 0, room = 0;

	for (; frame && count < FRAMES_MAX; frame = step_out(frame)) {
		if (count == room) {
			PyObject **more = realloc(frames, (room * 2 + 64) * sizeof(*frames));
			if (!more) {
				break;
			}
			frames = more;
			room = room * 2 + 64;
		}
		Py_INCREF(frame);
		frames[count++] = frame;
	}
	Py_XDECREF(frame);
	while (count > 0) {
		push_frame(thread, frames[--count]);
		Py_DECREF(frames[count]);
	}
	free(frames);
}

void hk_tracer_thread_join(struct hk_tracer_thread *thread, PyObject *frame)
{
	PyObject *type, *value, *traceback;

	PyErr_Fetch(&type, &value, &traceback);
	hk_tracer_thread_leave(thread);
	thread->period = hk_tracer.period;
	Py_XINCREF(frame);
	push_frames(thread, frame);
	PyErr_Restore(type, value, traceback);
}

/* Returns the innermost frame on the stack of calls, or 0. */
static uintptr_t innermost_frame(struct hk_tracer_thread *thread)
{
	const struct hk_tracer_call *top = thread->top;

	for (const struct hk_tracer_block *block = thread->block; block;) {
		while (top > block->calls) {
			if (!((--top)->key & 1)) {
				return top->key;
			}
		}
		block = block->outer;
		top = block ? block->calls + HK_BLOCK_CALLS : NULL;
	}
	return 0;
}

static bool is_open(uintptr_t outer, PyObject *frame)
{
	bool found = false;

	Py_XINCREF(frame);
	for (; frame; frame = step_out(frame)) {
		found = found || (uintptr_t)frame == outer;
	}
	return found;
}

void hk_tracer_thread_trim(struct hk_tracer_thread *thread, PyObject *frame)
{
	PyObject *type, *value, *traceback;
	uintptr_t outer = innermost_frame(thread);

	if (outer == (uintptr_t)frame) {
		return;
	}
	PyErr_Fetch(&type, &value, &traceback);
	while (outer && !is_open(outer, frame)) {
		hk_tracer_thread_pop(thread, outer, 0);
		thread->outer--;
		outer = innermost_frame(thread);
	}
	PyErr_Restore(type, value, traceback);
}
