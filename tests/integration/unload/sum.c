/* One name, two functions. Both say the same at the same place: what comes first in both. */
#include "hooktrace.h"

__attribute__((noinline)) static void say(void)
{
	hk_mark("summing");
	__asm__ volatile("");
}

#if ARGUMENTS == 6
int unload_sum(int a, int b, int c, int d, int e, int f);

int unload_sum(int a, int b, int c, int d, int e, int f)
{
	say();
	return a + b + c + d + e + f;
}
#else
int unload_sum(int a, int b, int c, int d, int e, int f, int g, int h);

int unload_sum(int a, int b, int c, int d, int e, int f, int g, int h)
{
	say();
	return a + b + c + d + e + f + 10 * g + 100 * h;
}
#endif
