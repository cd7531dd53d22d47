#include "arguments.h"

#include <stddef.h>

double arguments_mixed(int a, double b, float c, const char *d, long e, unsigned *f, double *g,
		       char *h, int i, double j, float k, unsigned l)
{
	*f = 42;
	return a + b + (double)c + (d == NULL) + (e == 0) + (*g == 0) + (h == NULL) + (i == 0) +
	       (j == 0) + (double)k + (l == 0);
}

float arguments_half(float value)
{
	return value / 2;
}

double arguments_wide(struct arguments_large a, struct arguments_large b, struct arguments_large c,
		      double x, double y)
{
	return (double)(a.word[0] + b.word[3] + c.word[15]) + x * y;
}

const char *arguments_name(int number)
{
	return number == 3 ? "three" : NULL;
}

void arguments_text(const char *text)
{
	__asm__ volatile("" : : "r"(text));
}

int arguments_pointee(unsigned *odd, int *nothing, double *neither)
{
	return odd != NULL && nothing == NULL && neither == NULL;
}

int arguments_follow(void *count, void *out, void *fields)
{
	return count != out || out != fields;
}

long arguments_unknown(long a, long b)
{
	return a * b;
}

int arguments_shapes(const void *first, struct arguments_shape a, struct arguments_shape b,
		     struct arguments_shape c, int left, struct arguments_shape d)
{
	return first == NULL && a.x + a.y + a.z + b.x + b.y + b.z + c.x + c.y + c.z == 45 &&
	       left == -1 && d.z == 12;
}

void arguments_long(const char *text, int number)
{
	__asm__ volatile("" : : "r"(text), "r"(number));
}

int arguments_sums(const unsigned long *sizes, const struct arguments_box *boxes, unsigned count)
{
	return sizes != NULL && boxes != NULL && count == 3;
}

void arguments_words(const char *a, const char *b, const char *c, const char *d, const char *e,
		     const char *f, const char *g, const char *h)
{
	__asm__ volatile("" : : "r"(a), "r"(b), "r"(c), "r"(d));
	__asm__ volatile("" : : "r"(e), "r"(f), "r"(g), "r"(h));
}
