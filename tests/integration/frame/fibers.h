/* fibers.h: functions that fibers.c calls through its slots. */
#ifndef HK_TESTS_FIBERS_H
#define HK_TESTS_FIBERS_H

int fiber_leaf(int value);
int fiber_call(int (*call)(void *), void *argument);
int fiber_outer(int (*call)(void *), void *argument);

/* fibers_switch.S: leaves this stack, whose pointer goes to *RET_STACK, for the one at STACK. */
void fiber_switch(void **ret_stack, void *stack);

/* The pointer of a stack that ends at TOP, to switch to: START begins there, right below TOP. */
void *fiber_stack(void *top, void (*start)(void));

#endif
