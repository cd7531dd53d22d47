/* The linked library of told: functions that do almost nothing. */
#include <time.h>

#include "told.h"

int told_one(int value)
{
	return value + 1;
}

int told_two(int value)
{
	return value + 2;
}

int told_sleep(long ns)
{
	return ns > 0 ? nanosleep(&(struct timespec){.tv_nsec = ns}, NULL) : 0;
}

int told_nap(long ns)
{
	return nanosleep(&(struct timespec){.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000},
			 NULL);
}
