/* fibers.h: functions that fibers.c calls through its slots. */
#ifndef HK_TESTS_FIBERS_H
#define HK_TESTS_FIBERS_H

int fiber_leaf(int value);
int fiber_call(int (*call)(void *), void *argument);
int fiber_outer(int (*call)(void *), void *argument);

#endif
