/* stacks.h: functions with many words of arguments on the stack; stacks.hooks describes some. */
#ifndef HK_TESTS_STACKS_H
#define HK_TESTS_STACKS_H

#define STACK_STRUCT(words)       \
	struct stack_##words {    \
		long word[words]; \
	}

STACK_STRUCT(16);
STACK_STRUCT(32);
STACK_STRUCT(33);
STACK_STRUCT(64);
STACK_STRUCT(255);
STACK_STRUCT(40);
STACK_STRUCT(125);
STACK_STRUCT(500);
STACK_STRUCT(1500);

/* Aligned to more than the stack is. */
struct stack_aligned {
	_Alignas(64) long word[8];
};

long stacks_twenty(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j,
		   long k, long l, long m, long n, long o, long p, long q, long r, long s, long t);
long stacks_structs(struct stack_16 a, struct stack_16 b, long c, struct stack_16 d,
		    struct stack_16 e, struct stack_16 f, double g, long h, long i, long j, long k,
		    long l, long m);
long stacks_default(struct stack_32 a);
long stacks_odd(long first, struct stack_33 a);
long stacks_half(struct stack_64 a, double b);
long stacks_most(struct stack_255 a, long last);
long stacks_none(long a);
long stacks_many(long a0, long a1, long a2, long a3, long a4, long a5, long a6, long a7, long a8,
		 long a9, long a10, long a11, long a12, long a13, long a14, long a15, long a16,
		 long a17, long a18, long a19, long a20, long a21, long a22, long a23, long a24,
		 long a25, long a26, long a27, long a28, long a29, long a30, long a31, long a32,
		 long a33, long a34, long a35, long a36, long a37, long a38, long a39, long a40,
		 long a41, long a42, long a43, long a44, long a45, long a46, long a47);
long stacks_320(struct stack_40 a);
long stacks_1000(struct stack_125 a, long last);
long stacks_4000(long first, struct stack_500 a, struct stack_40 b);
long stacks_12000(struct stack_1500 a);
long stacks_long_double(long double a, long double b, long double c, long double d, long double e,
			long double f, long double g, long double h, long double i, long double j,
			long double k, long double l, long double m, long double n, long double o,
			long double p, long double q, long double r);
long stacks_variadic(int count, ...);
/* The offset from its alignment, and the sum; one is described, of the other the size is given. */
long stacks_aligned(struct stack_aligned a);
long stacks_aligned_more(long first, struct stack_aligned a);
long stacks_aligned_given(struct stack_aligned a);
/* Calls back, which calls it again. */
long stacks_deep(long depth, long (*deeper)(long depth));
/* Has been called so often. */
long stacks_count(void);
#if defined(__x86_64__)
typedef double stack_vector __attribute__((vector_size(32)));
__attribute__((target("avx"))) stack_vector
stacks_vectors(stack_vector a, stack_vector b, stack_vector c, stack_vector d, stack_vector e,
	       stack_vector f, stack_vector g, stack_vector h, stack_vector i, stack_vector j);
#endif
long stacks_zero(long a, long b, long c, long d, long e, long f);

#endif
