#include "results.h"

#include <complex.h>
#include <fenv.h>
#include <stdarg.h>

#pragma GCC visibility push(default)

struct result_id results_id(struct result_id a)
{
	return (struct result_id){a.a + 1, a.b * 2};
}

struct result_di results_di(struct result_di a)
{
	return (struct result_di){a.a * 3, a.b + 4};
}

struct result_dd results_dd(struct result_dd a)
{
	return (struct result_dd){a.b, a.a + a.b};
}

struct result_fff results_fff(struct result_fff a)
{
	return (struct result_fff){a.c, a.a, a.b};
}

struct result_ii results_ii(struct result_ii a)
{
	return (struct result_ii){a.b + 1, a.a + 2};
}

struct result_memory results_memory(long a, struct result_memory b)
{
	return (struct result_memory){b.c + a, b.b + a, b.a + a};
}

struct result_x87 results_x87(struct result_x87 a)
{
	return (struct result_x87){a.a * 1.25L};
}

__int128 results_int128(__int128 a, unsigned __int128 b)
{
	return a * 3 - (__int128)b;
}

float results_float(float a, double b, float c, double d, float e, double f, float g, double h,
		    float i, double j)
{
	return (float)(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j);
}

long double results_long_double(long double a, int b, long double c)
{
	return a * b + c;
}

_Complex float results_complex_float(_Complex float a)
{
	return a * a;
}

_Complex double results_complex_double(_Complex double a)
{
	return a * a;
}

_Complex long double results_complex_long_double(_Complex long double a)
{
	return a * a;
}

double results_variadic(int count, ...)
{
	va_list arguments;
	double sum = 0;
	va_start(arguments, count);
	for (int i = 0; i < count; i++) {
		sum = sum * 2 + va_arg(arguments, double);
		sum = sum * 2 + va_arg(arguments, int);
		sum = sum * 2 + (double)va_arg(arguments, long double);
	}
	va_end(arguments);
	return sum;
}

/* The rounding mode of both units as it is here. */
int results_rounding(void)
{
	return fegetround();
}

__attribute__((target("avx"))) __m256d results_m256(__m256d a, __m256d b, __m256d c, __m256d d,
						    __m256d e, __m256d f, __m256d g, __m256d h,
						    __m256d i)
{
	__m256d first = _mm256_add_pd(_mm256_mul_pd(a, b), _mm256_mul_pd(c, d));
	__m256d second = _mm256_add_pd(_mm256_mul_pd(e, f), _mm256_mul_pd(g, h));
	return _mm256_sub_pd(_mm256_add_pd(first, second), i);
}

__attribute__((target("avx512f"))) __m512d results_m512(__m512d a, __m512d b, __m512d c, __m512d d,
							__m512d e, __m512d f, __m512d g, __m512d h,
							__m512d i)
{
	__m512d first = _mm512_add_pd(_mm512_mul_pd(a, b), _mm512_mul_pd(c, d));
	__m512d second = _mm512_add_pd(_mm512_mul_pd(e, f), _mm512_mul_pd(g, h));
	return _mm512_sub_pd(_mm512_add_pd(first, second), i);
}

#pragma GCC visibility pop
