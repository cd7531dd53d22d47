/* The library of arguments.c; arguments.hooks describes it. */
#ifndef HK_TEST_ARGUMENTS_H
#define HK_TEST_ARGUMENTS_H

#pragma GCC visibility push(default)

struct arguments_large {
	long word[16];
};

double arguments_mixed(int a, double b, float c, const char *d, long e, unsigned *f, double *g,
		       char *h, int i, double j, float k, unsigned l);
float arguments_half(float value);
/* More on the stack than a frame has room for, and what lies in vector registers beside it. */
double arguments_wide(struct arguments_large a, struct arguments_large b, struct arguments_large c,
		      double x, double y);
const char *arguments_name(int number);
void arguments_text(const char *text);
int arguments_pointee(unsigned *odd, int *nothing, double *neither);
long arguments_unknown(long a, long b);
/* Described as if its arguments were addresses. */
int arguments_follow(void *count, void *out, void *fields);
struct arguments_shape {
	unsigned x, y, z;
};
struct arguments_box {
	long name, width, height, depth;
};
/* The third shape does not fit into what is left of the registers; `left` does. */
int arguments_shapes(const void *first, struct arguments_shape a, struct arguments_shape b,
		     struct arguments_shape c, int left, struct arguments_shape d);
void arguments_long(const char *text, int number);
int arguments_sums(const unsigned long *sizes, const struct arguments_box *boxes, unsigned count);
void arguments_words(const char *a, const char *b, const char *c, const char *d, const char *e,
		     const char *f, const char *g, const char *h);

#pragma GCC visibility pop

#endif
