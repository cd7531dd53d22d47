/* results: calls functions whose arguments and results travel in every class of register, each the
 * first time and again; prints what came back. */
#include "results.h"

#include <complex.h>
#include <fenv.h>
#include <stdio.h>

static void print_structs(void)
{
	struct result_id id = results_id((struct result_id){1, 2.5});
	struct result_di di = results_di((struct result_di){1.5, 2});
	struct result_dd dd = results_dd((struct result_dd){1.25, 2.5});
	struct result_fff fff = results_fff((struct result_fff){1, 2, 3});
	struct result_ii ii = results_ii((struct result_ii){1, -2});
	struct result_memory memory = results_memory(5, (struct result_memory){1, 2, 3});
	struct result_x87 x87 = results_x87((struct result_x87){1e4000L});
	printf("structs %d %g %g %ld %g %g %g %g %g\n", id.a, id.b, di.a, di.b, dd.a, dd.b, fff.a,
	       fff.b, fff.c);
	printf("structs %ld %ld %ld %ld %ld %.10Lg\n", ii.a, ii.b, memory.a, memory.b, memory.c,
	       x87.a);
}

static void print_numbers(void)
{
	__int128 wide = results_int128((__int128)1 << 100, 12345);
	printf("int128 %lx %lx\n", (long)(wide >> 64), (long)wide);
	printf("float %g\n", results_float(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
	printf("long double %.15Lg\n", results_long_double(1e-4000L, 3, 1e-4001L));
	_Complex float f = results_complex_float(1 + 2 * I);
	_Complex double d = results_complex_double(3 + 4 * I);
	_Complex long double l = results_complex_long_double(1e2000L + 2e2000L * I);
	printf("complex %g %g %g %g %.6Lg %.6Lg\n", crealf(f), cimagf(f), creal(d), cimag(d),
	       creall(l), cimagl(l));
	printf("variadic %g %g\n", results_variadic(0),
	       results_variadic(4, 1.5, 1, 1e10L, 2.5, 2, 2e10L, 3.5, 3, 3e10L, 4.5, 4, 4e10L));
}

__attribute__((target("avx"))) static void print_m256(void)
{
	double out[4];
	__m256d a = _mm256_set_pd(1, 2, 3, 4), b = _mm256_set1_pd(10);
	_mm256_storeu_pd(out, results_m256(a, b, b, a, a, a, b, b, a));
	printf("m256 %g %g %g %g\n", out[0], out[1], out[2], out[3]);
}

__attribute__((target("avx512f"))) static void print_m512(void)
{
	double out[8];
	__m512d a = _mm512_set_pd(1, 2, 3, 4, 5, 6, 7, 8), b = _mm512_set1_pd(10);
	_mm512_storeu_pd(out, results_m512(a, b, b, a, a, a, b, b, a));
	for (int i = 0; i < 8; i++) {
		printf("m512 %g\n", out[i]);
	}
}

/* What a program sets for itself holds in what it calls and after it. */
static void print_rounding(void)
{
	fesetround(FE_UPWARD);
	int inside = results_rounding();
	printf("rounding %d %d\n", inside == FE_UPWARD, fegetround() == FE_UPWARD);
	fesetround(FE_TONEAREST);
}

int main(void)
{
	for (int i = 0; i < 2; i++) {
		print_structs();
		print_numbers();
		print_rounding();
		if (__builtin_cpu_supports("avx")) {
			print_m256();
		}
		if (__builtin_cpu_supports("avx512f")) {
			print_m512();
		}
	}
	return 0;
}
