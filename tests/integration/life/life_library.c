/* What the program calls: functions that do nothing of their own. */
#include "life.h"

int life_touch(int value)
{
	return value + 1;
}

int life_call(int (*function)(void *), void *argument)
{
	return function(argument);
}
