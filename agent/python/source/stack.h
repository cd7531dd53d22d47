/* stack.h: how near the C stack of a thread is to its end.
 *
 * An evaluation of a frame in C ends a recursion of Python functions there. Each thread has its own
 * struct hk_stack, zero at first.
 */
#ifndef HK_PYTHON_STACK_H
#define HK_PYTHON_STACK_H

#include <stdbool.h>
#include <stdint.h>

struct hk_stack {
	uintptr_t low;	/* the lowest address; 0: not looked for */
	uintptr_t room; /* bytes there that are left to what is called in C; 0: unknown */
};

/* Finds the stack of this thread. */
void hk_stack_find(struct hk_stack *ret_stack);

/* Raises the RecursionError of a stack that is short. */
void hk_stack_refuse(void);

/* Returns whether the calling function is in the room at the end of STACK. A function far away runs
 * on another stack, as of a coroutine library. */
static inline bool hk_stack_is_short(const struct hk_stack *stack)
{
	return (uintptr_t)__builtin_frame_address(0) - stack->low < stack->room;
}

#endif
