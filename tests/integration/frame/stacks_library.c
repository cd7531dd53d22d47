#include "stacks.h"

#include <stdarg.h>
#include <stdint.h>

static long sum_of(const long *word, int count)
{
	long sum = 0;
	for (int i = 0; i < count; i++) {
		sum = sum * 3 + word[i];
	}
	return sum;
}

#pragma GCC visibility push(default)

long stacks_twenty(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j,
		   long k, long l, long m, long n, long o, long p, long q, long r, long s, long t)
{
	long all[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t};
	return sum_of(all, 20);
}

long stacks_structs(struct stack_16 a, struct stack_16 b, long c, struct stack_16 d,
		    struct stack_16 e, struct stack_16 f, double g, long h, long i, long j, long k,
		    long l, long m)
{
	long all[] = {sum_of(a.word, 16),
		      sum_of(b.word, 16),
		      c,
		      sum_of(d.word, 16),
		      sum_of(e.word, 16),
		      sum_of(f.word, 16),
		      (long)g,
		      h,
		      i,
		      j,
		      k,
		      l,
		      m};
	return sum_of(all, 13);
}

long stacks_default(struct stack_32 a)
{
	return sum_of(a.word, 32);
}

long stacks_odd(long first, struct stack_33 a)
{
	return first + sum_of(a.word, 33);
}

long stacks_half(struct stack_64 a, double b)
{
	return sum_of(a.word, 64) + (long)b;
}

long stacks_most(struct stack_255 a, long last)
{
	return sum_of(a.word, 255) + last;
}

long stacks_none(long a)
{
	return a + 1;
}

long stacks_many(long a0, long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8,
		 long a9, long a10, long a11, long a12, long a13, long a14, long a15, long a16,
		 long a17, long a18, long a19, long a20, long a21, long a22, long a23, long a24,
		 long a25, long a26, long a27, long a28, long a29, long a30, long a31, long a32,
		 long a33, long a34, long a35, long a36, long a37, long a38, long a39, long a40,
		 long a41, long a42, long a43, long a44, long a45, long a46, long a47)
{
	long all[] = {a0,  a1,	a2,  a3,  a4,  a5,  a6,	 a7,  a8,  a9,	a10, a11,
		      a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23,
		      a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35,
		      a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47};
	return sum_of(all, 48);
}

long stacks_320(struct stack_40 a)
{
	return sum_of(a.word, 40);
}

long stacks_1000(struct stack_125 a, long last)
{
	return sum_of(a.word, 125) + last;
}

long stacks_4000(long first, struct stack_500 a, struct stack_40 b)
{
	return first + sum_of(a.word, 500) + sum_of(b.word, 40);
}

long stacks_12000(struct stack_1500 a)
{
	return sum_of(a.word, 1500);
}

long stacks_long_double(long double a, long double b, long double c, long double d, long double e,
			long double f, long double g, long double h, long double i, long double j,
			long double k, long double l, long double m, long double n, long double o,
			long double p, long double q, long double r)
{
	long double all[] = {a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r};
	long sum = 0;
	for (int at = 0; at < 18; at++) {
		sum = sum * 3 + (long)all[at];
	}
	return sum;
}

long stacks_variadic(int count, ...)
{
	va_list arguments;
	long sum = 0;
	va_start(arguments, count);
	for (int i = 0; i < count; i++) {
		sum = sum * 3 + va_arg(arguments, long);
	}
	va_end(arguments);
	return sum;
}

/* The compiler believes in the alignment: only the address itself tells. Where such a struct is
 * passed by its address, its place is the caller's business. */
static long offset_of(const struct stack_aligned *a)
{
	uintptr_t address = (uintptr_t)a;
	__asm__("" : "+r"(address));
#if !defined(__x86_64__)
	address = 0;
#endif
	return (long)(address % 64);
}

long stacks_aligned(struct stack_aligned a)
{
	return sum_of(a.word, 8) * 64 + offset_of(&a);
}

long stacks_aligned_more(long first, struct stack_aligned a)
{
	return (first + sum_of(a.word, 8)) * 64 + offset_of(&a);
}

long stacks_aligned_given(struct stack_aligned a)
{
	return sum_of(a.word, 8) * 64 + offset_of(&a);
}

long stacks_deep(long depth, long (*deeper)(long depth))
{
	return depth == 0 ? 0 : deeper(depth - 1) + 1;
}

long stacks_count(void)
{
	static long count;
	return ++count;
}

#if defined(__x86_64__)
__attribute__((target("avx"))) stack_vector
stacks_vectors(stack_vector a, stack_vector b, stack_vector c, stack_vector d, stack_vector e,
	       stack_vector f, stack_vector g, stack_vector h, stack_vector i, stack_vector j)
{
	return a + b + c + d + e + f + g + h + 2 * i + 3 * j;
}
#endif

long stacks_zero(long a, long b, long c, long d, long e, long f)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}

#pragma GCC visibility pop
