#include "calls.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

long shape_twenty(int a, double b, long c, float d, short e, double f, char g, double h, long i,
		  double j, int k, double l, long m, double n, int o, double p, long q, double r,
		  double s, long t)
{
	return a + 2 * (long)b + 3 * c + 4 * (long)d + 5 * e + 6 * (long)f + 7 * g + 8 * (long)h +
	       9 * i + 10 * (long)j + 11 * k + 12 * (long)l + 13 * m + 14 * (long)n + 15 * o +
	       16 * (long)p + 17 * q + 18 * (long)r + 19 * (long)s + 20 * t;
}

/* After eight registers: one word, fifteen pairs and one word, which is all that is copied. */
long shape_stack32(long a, long b, long c, long d, long e, long f, long g, long h,
		   struct shape_pair w[1], struct shape_pair s0, struct shape_pair s1,
		   struct shape_pair s2, struct shape_pair s3, struct shape_pair s4,
		   struct shape_pair s5, struct shape_pair s6, struct shape_pair s7,
		   struct shape_pair s8, struct shape_pair s9, struct shape_pair s10,
		   struct shape_pair s11, struct shape_pair s12, struct shape_pair s13,
		   struct shape_pair s14, long last)
{
	struct shape_pair pairs[] = {s0, s1, s2,  s3,  s4,  s5,	 s6, s7,
				     s8, s9, s10, s11, s12, s13, s14};
	long sum = a + b + c + d + e + f + g + h + w->a + w->b + last;
	for (int i = 0; i < 15; i++) {
		sum += (i + 1) * (pairs[i].a + 2 * pairs[i].b);
	}
	return sum;
}

struct shape_pair shape_pair(struct shape_pair in)
{
	return (struct shape_pair){in.b, in.a};
}

struct shape_mixed shape_mixed(struct shape_mixed in, struct shape_large by_value, long tail)
{
	return (struct shape_mixed){in.a + by_value.word[8] + tail, in.b * 2};
}

struct shape_floats shape_floats(struct shape_floats in, float by)
{
	for (int i = 0; i < 4; i++) {
		in.v[i] *= by;
	}
	return in;
}

struct shape_doubles shape_doubles(struct shape_doubles a, struct shape_doubles b)
{
	for (int i = 0; i < 4; i++) {
		a.v[i] += b.v[i];
	}
	return a;
}

struct shape_longs shape_longs(struct shape_longs in, long double by)
{
	for (int i = 0; i < 4; i++) {
		in.v[i] *= by;
	}
	return in;
}

struct shape_vectors shape_vectors(struct shape_vectors in, float32x4_t by)
{
	for (int i = 0; i < 3; i++) {
		in.v[i] = vaddq_f32(in.v[i], by);
	}
	return in;
}

struct shape_large shape_large(long seed, struct shape_large in)
{
	for (int i = 0; i < 9; i++) {
		in.word[i] += seed * i;
	}
	return in;
}

long double shape_long_double(long double a, long double b, long double c, long double d,
			      long double e, long double f, long double g, long double h, int i,
			      long double on_the_stack)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + i + 10 * on_the_stack;
}

__int128 shape_int128(long a, __int128 even_register, long b, long c, long d, long e,
		      __int128 on_the_stack)
{
	return even_register * 3 + on_the_stack * 5 + a + b + c + d + e;
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

void shape_jump(jmp_buf where, int value)
{
	longjmp(where, value);
}

/* Or the recursion would not go through the slot. */
__attribute__((noipa)) int shape_recurse(int depth)
{
	return depth ? shape_recurse(depth - 1) + 1 : 0;
}

int shape_callback(int (*call)(int), int value)
{
	return call(value) + 1;
}

int shape_errno(int value)
{
	errno = value;
	return value * 2;
}

double shape_half(const char *why, float value)
{
	return *why ? value / 2.0 : 0;
}

long shape_bytes(int fd, const void *data, unsigned long bytes, float scale)
{
	return fd < 0 || !data ? -1 : (long)((float)bytes * scale);
}

int shape_fails(int result)
{
	return result;
}

__attribute__((aarch64_vector_pcs)) float32x4_t shape_variant(float32x4_t in)
{
	return vaddq_f32(in, in);
}

static long now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Busy for that long. */
void shape_wait(long ns)
{
	for (long end = now_ns() + ns; now_ns() < end;) {
	}
}

void shape_sleep(long ns)
{
	const struct timespec time = {.tv_nsec = ns};
	nanosleep(&time, NULL);
}

void shape_end_thread(void)
{
	pthread_exit(NULL);
}
