/* Functions whose calls a test counts, in a library of their own. */
#include "late_library.h"

#include <unistd.h>

long late_work(long value)
{
	return value * 3 + 1;
}

long late_marked(long value)
{
	return value ^ 0x55;
}

double late_many(long a, long b, long c, long d, long e, long f, long g, double h, long i)
{
	return (double)(a + b + c + d + e + f + g + i) + h;
}

int late_wait(int fd)
{
	char byte;
	return read(fd, &byte, 1) == 1 ? byte : -1;
}
