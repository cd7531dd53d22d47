/* shapes.h: functions of every awkward shape; shapes.c calls each a known number of times. */
#ifndef HK_TESTS_SHAPES_H
#define HK_TESTS_SHAPES_H

#include <immintrin.h>
#include <setjmp.h>

struct shape_small {
	long a;
	double b;
};
struct shape_large {
	long word[9];
};

long shape_twenty(int a, double b, long c, float d, short e, double f, char g, double h, long i,
		  double j, int k, double l, long m, double n, int o, double p, long q, double r,
		  double s, long t);
struct shape_small shape_pair(struct shape_small in, struct shape_large by_value, long tail);
struct shape_large shape_sret(long seed, struct shape_large in);
long double shape_long_double(long double x, double y);
_Complex double shape_complex(_Complex double x);
int shape_variadic(const char *format, ...);
__attribute__((target("avx"))) __m256d shape_vector(__m256d a, __m256d b);
void shape_jump(jmp_buf where, int value);
int shape_recurse(int depth);
int shape_callback(int (*call)(int), int value);
int shape_void_errno(int value);
void shape_end_thread(void);

#endif
