#include "fibers.h"

#pragma GCC visibility push(default)

int fiber_leaf(int value)
{
	return value + 1;
}

int fiber_call(int (*call)(void *), void *argument)
{
	return call(argument) + 1;
}

int fiber_outer(int (*call)(void *), void *argument)
{
	return call(argument) + 1;
}

#pragma GCC visibility pop
