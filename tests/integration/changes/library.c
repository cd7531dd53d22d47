/* Functions whose calls are watched, replaced, skipped and answered. Each counts itself. */
#include "library.h"

struct changes_calls changes_calls;

int changes_number(int x)
{
	changes_calls.number++;
	return x + 1;
}

double changes_half(double x)
{
	changes_calls.half++;
	return x / 2;
}

float changes_third(float x)
{
	changes_calls.third++;
	return x / 3;
}

void *changes_place(void)
{
	changes_calls.place++;
	return &changes_calls;
}

long changes_sum(long a, long b, long c, long d, long e, long f, long g, long h)
{
	changes_calls.sum++;
	return a + b + c + d + e + f + g + h;
}
