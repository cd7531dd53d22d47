/* The linked library of told: functions that do almost nothing. */
#include "told.h"

int told_one(int value)
{
	return value + 1;
}

int told_two(int value)
{
	return value + 2;
}
