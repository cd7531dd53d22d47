/* stack.h: how near the C stack of a thread is to its end.
 *
 * An evaluation of a frame in C ends a recursion of Python functions there. Each thread has its own
 * struct hk_stack, zero at first.
 */
#ifndef HK_PYTHON_STACK_H
#define HK_PYTHON_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "beyond.h"

#define HK_STACK_ROOM ((uintptr_t)256 * 1024)

struct hk_stack {
	uintptr_t low;	/* the lowest address; 0: not looked for */
	uintptr_t room; /* bytes there that are left to what is called in C; 0: unknown */
};

/* Finds the stack of this thread. */
static inline void hk_stack_find(struct hk_stack *ret_stack)
{
	pthread_attr_t attributes;
	void *low;
	size_t bytes;

	*ret_stack = (struct hk_stack){.low = 1};
	if (pthread_getattr_np(pthread_self(), &attributes) != 0) {
		return;
	}
	if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
		ret_stack->low = (uintptr_t)low;
		ret_stack->room = bytes / 4 < HK_STACK_ROOM ? bytes / 4 : HK_STACK_ROOM;
	}
	pthread_attr_destroy(&attributes);
}

/* Raises the RecursionError of a stack that is short. */
static inline void hk_stack_refuse(void)
{
	PyErr_SetString(PyExc_RecursionError,
			"maximum recursion depth exceeded: the thread's C stack ends here");
}

/* Returns whether the calling function is in the room at the end of STACK. A function far away runs
 * on another stack, as of a coroutine library. */
static inline bool hk_stack_is_short(const struct hk_stack *stack)
{
	return (uintptr_t)__builtin_frame_address(0) - stack->low < stack->room;
}

#endif
