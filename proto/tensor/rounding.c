#include "tensor/rounding.h"

#include <string.h>

#define DOUBLE_DIGITS 53
#define DOUBLE_BIAS 1023

struct hk_rounding hk_rounding_of(enum hk_dtype dtype)
{
	switch (dtype) {
	case HK_DTYPE_F64:
		return (struct hk_rounding){DOUBLE_DIGITS, -1022};
	case HK_DTYPE_F32:
		return (struct hk_rounding){24, -126};
	case HK_DTYPE_F16:
		return (struct hk_rounding){11, -14};
	case HK_DTYPE_BF16:
		return (struct hk_rounding){8, -126};
	case HK_DTYPE_F8_E4M3:
		return (struct hk_rounding){4, -6};
	case HK_DTYPE_F8_E5M2:
		return (struct hk_rounding){3, -14};
	default:
		return (struct hk_rounding){0, 0};
	}
}

enum hk_dtype hk_rounding_narrower(enum hk_dtype a, enum hk_dtype b)
{
	int of_a = hk_rounding_of(a).digits, of_b = hk_rounding_of(b).digits;

	if (!of_a || !of_b) {
		return of_a ? a : b;
	}
	return of_b < of_a ? b : a;
}

static double power_of_two(int exponent)
{
	uint64_t bits = (uint64_t)(exponent + DOUBLE_BIAS) << (DOUBLE_DIGITS - 1);
	double power;

	memcpy(&power, &bits, sizeof(power));
	return power;
}

/* A positive X up to 2^52, rounded to an integer, ties to even. */
static int64_t nearest(double x)
{
	return (int64_t)(x + 0x1p52 - 0x1p52);
}

/* The bits of a floating-point number are its number in order: of a double here, whose last digits
 * are rounded away and whose exponents below LEAST are not counted. */
static int64_t number_of_normal(struct hk_rounding rounding, double x)
{
	int dropped = DOUBLE_DIGITS - rounding.digits;
	uint64_t bits, half;

	memcpy(&bits, &x, sizeof(bits));
	if (!dropped) {
		return (int64_t)bits;
	}
	half = (1ull << (dropped - 1)) - 1 + (bits >> dropped & 1);
	bits = (bits + half) >> dropped;
	return (int64_t)bits -
	       ((int64_t)(rounding.least + DOUBLE_BIAS - 1) << (rounding.digits - 1));
}

static int64_t number_of_positive(struct hk_rounding rounding, double x)
{
	if (!rounding.digits) {
		return x < 0x1p63 ? (int64_t)x : INT64_MAX;
	}
	if (rounding.digits < DOUBLE_DIGITS && x < power_of_two(rounding.least)) {
		return nearest(x * power_of_two(rounding.digits - 1 - rounding.least));
	}
	return number_of_normal(rounding, x);
}

int64_t hk_rounding_number(struct hk_rounding rounding, double x)
{
	/* A zero that is added takes the sign from a zero. */
	return x < 0 ? -number_of_positive(rounding, -x) : number_of_positive(rounding, x + 0.0);
}
