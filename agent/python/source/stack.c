#include "stack.h"

#include "beyond.h"

#define ROOM_BYTES ((uintptr_t)256 * 1024)

void hk_stack_find(struct hk_stack *ret_stack)
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
		ret_stack->room = bytes / 4 < ROOM_BYTES ? bytes / 4 : ROOM_BYTES;
	}
	pthread_attr_destroy(&attributes);
}

void hk_stack_refuse(void)
{
	PyErr_SetString(PyExc_RecursionError,
			"maximum recursion depth exceeded: the thread's C stack ends here");
}
