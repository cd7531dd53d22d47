#include "target.h"

long target_data = 3;

long target_add(long a, long b)
{
	return a + b;
}

long target_negate(long a)
{
	return -a;
}
