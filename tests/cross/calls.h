/* calls.h: functions of every shape that AAPCS64 has a rule for; calls.c calls each a known number
 * of times. */
#ifndef HK_TESTS_CROSS_CALLS_H
#define HK_TESTS_CROSS_CALLS_H

#include <arm_neon.h>
#include <setjmp.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shape_pair { /* two general registers */
	long a, b;
};
struct shape_mixed { /* one general register each: not homogeneous */
	long a;
	double b;
};
struct shape_floats { /* homogeneous: s0 to s3 */
	float v[4];
};
struct shape_doubles { /* d0 to d3 */
	double v[4];
};
struct shape_longs { /* q0 to q3 */
	long double v[4];
};
struct shape_vectors { /* v0 to v2 */
	float32x4_t v[3];
};
struct shape_large { /* by reference, and returned through x8 */
	long word[9];
};

long shape_twenty(int a, double b, long c, float d, short e, double f, char g, double h, long i,
		  double j, int k, double l, long m, double n, int o, double p, long q, double r,
		  double s, long t);
long shape_stack32(long a, long b, long c, long d, long e, long f, long g, long h,
		   struct shape_pair w[1], struct shape_pair s0, struct shape_pair s1,
		   struct shape_pair s2, struct shape_pair s3, struct shape_pair s4,
		   struct shape_pair s5, struct shape_pair s6, struct shape_pair s7,
		   struct shape_pair s8, struct shape_pair s9, struct shape_pair s10,
		   struct shape_pair s11, struct shape_pair s12, struct shape_pair s13,
		   struct shape_pair s14, long last);
struct shape_pair shape_pair(struct shape_pair in);
struct shape_mixed shape_mixed(struct shape_mixed in, struct shape_large by_value, long tail);
struct shape_floats shape_floats(struct shape_floats in, float by);
struct shape_doubles shape_doubles(struct shape_doubles a, struct shape_doubles b);
struct shape_longs shape_longs(struct shape_longs in, long double by);
struct shape_vectors shape_vectors(struct shape_vectors in, float32x4_t by);
struct shape_large shape_large(long seed, struct shape_large in);
long double shape_long_double(long double a, long double b, long double c, long double d,
			      long double e, long double f, long double g, long double h, int i,
			      long double on_the_stack);
__int128 shape_int128(long a, __int128 even_register, long b, long c, long d, long e,
		      __int128 on_the_stack);
_Complex double shape_complex(_Complex double x);
int shape_variadic(const char *format, ...);
void shape_jump(jmp_buf where, int value);
int shape_recurse(int depth);
int shape_callback(int (*call)(int), int value);
int shape_errno(int value);
double shape_half(const char *why, float value);
long shape_bytes(int fd, const void *data, unsigned long bytes, float scale);
int shape_fails(int result);
/* Keeps more vector registers than a frame of ours does. */
#ifndef __cplusplus
__attribute__((aarch64_vector_pcs)) float32x4_t shape_variant(float32x4_t in);
#endif
void shape_wait(long ns);
void shape_sleep(long ns);
void shape_end_thread(void);
void shape_throw(int value);

/* catch.cc */
int catch_all(void);

#ifdef __cplusplus
}
#endif

#endif
