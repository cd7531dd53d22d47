/* results.h: functions whose arguments and results travel in every class of register. */
#ifndef HK_TESTS_RESULTS_H
#define HK_TESTS_RESULTS_H

#include <immintrin.h>

struct result_id {
	int a;
	double b;
};
struct result_di {
	double a;
	long b;
};
struct result_dd {
	double a, b;
};
struct result_fff {
	float a, b, c;
};
struct result_ii {
	long a, b;
};
struct result_memory {
	long a, b, c;
};
struct result_x87 {
	long double a;
};

struct result_id results_id(struct result_id a);
struct result_di results_di(struct result_di a);
struct result_dd results_dd(struct result_dd a);
struct result_fff results_fff(struct result_fff a);
struct result_ii results_ii(struct result_ii a);
struct result_memory results_memory(long a, struct result_memory b);
struct result_x87 results_x87(struct result_x87 a);
__int128 results_int128(__int128 a, unsigned __int128 b);
float results_float(float a, double b, float c, double d, float e, double f, float g, double h,
		    float i, double j);
long double results_long_double(long double a, int b, long double c);
_Complex float results_complex_float(_Complex float a);
_Complex double results_complex_double(_Complex double a);
_Complex long double results_complex_long_double(_Complex long double a);
double results_variadic(int count, ...);
int results_rounding(void);
__attribute__((target("avx"))) __m256d results_m256(__m256d a, __m256d b, __m256d c, __m256d d,
						    __m256d e, __m256d f, __m256d g, __m256d h,
						    __m256d i);
__attribute__((target("avx512f"))) __m512d results_m512(__m512d a, __m512d b, __m512d c, __m512d d,
							__m512d e, __m512d f, __m512d g, __m512d h,
							__m512d i);

#endif
