#include "shapes.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#pragma GCC visibility push(default)

long shape_twenty(int a, double b, long c, float d, short e, double f, char g, double h, long i,
		  double j, int k, double l, long m, double n, int o, double p, long q, double r,
		  double s, long t)
{
	return a + 2 * (long)b + 3 * c + 4 * (long)d + 5 * e + 6 * (long)f + 7 * g + 8 * (long)h +
	       9 * i + 10 * (long)j + 11 * k + 12 * (long)l + 13 * m + 14 * (long)n + 15 * o +
	       16 * (long)p + 17 * q + 18 * (long)r + 19 * (long)s + 20 * t;
}

struct shape_small shape_pair(struct shape_small in, struct shape_large by_value, long tail)
{
	return (struct shape_small){in.a + by_value.word[8] + tail, in.b * 2};
}

struct shape_large shape_sret(long seed, struct shape_large in)
{
	for (int i = 0; i < 9; i++) {
		in.word[i] += seed * i;
	}
	return in;
}

long double shape_long_double(long double x, double y)
{
	return x * 3.25L + y;
}

_Complex double shape_complex(_Complex double x)
{
	return x * x;
}

int shape_variadic(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int length = vprintf(format, arguments);
	va_end(arguments);
	return length;
}

__attribute__((target("avx"))) __m256d shape_vector(__m256d a, __m256d b)
{
	return _mm256_add_pd(_mm256_mul_pd(a, b), b);
}

void shape_jump(jmp_buf where, int value)
{
	longjmp(where, value);
}

/* Or the recursion would not go through the slot. */
#if __has_attribute(noipa)
__attribute__((noipa))
#else
__attribute__((noinline, optnone))
#endif
int shape_recurse(int depth)
{
	return depth ? shape_recurse(depth - 1) + 1 : 0;
}

int shape_callback(int (*call)(int), int value)
{
	return call(value) + 1;
}

int shape_void_errno(int value)
{
	errno = value;
	return value * 2;
}

void shape_end_thread(void)
{
	pthread_exit(NULL);
}

#pragma GCC visibility pop
