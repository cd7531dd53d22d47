#include "escapes.h"

#include <signal.h>

static int pending;

#pragma GCC visibility push(default)

void escapes_raise(int number)
{
	pending = number;
}

long escapes_take(int value)
{
	return value + 1;
}

int cuCtxGetDevice(int *device)
{
	int number = pending;
	pending = 0;
	*device = 3;
	if (number) {
		raise(number);
	}
	return 0;
}

#pragma GCC visibility pop
