#include "tensor/tolerance.h"

#include "tensor/rounding.h"

/* Roundings of half a ULP that a result may be away. Of its own dtype: gradients of biases are long
 * sums of such numbers, which cancel, and are up to 35 away in transformers of 2 to 12 layers; the
 * median is
 * 2. Of the dtype that sums are accumulated in: the error grows with the root of their length; 1024
 * is four times the root of 65,536. The rule for users says the same. */
#define OWN_ROUNDINGS 40
#define SUM_ROUNDINGS 1024
#define RELATIVE_MOST 0.25
#define LARGEST 4 /* times the relative tolerance */

const char *hk_tolerance_rule(void)
{
	return "rule: u is half a unit in the last place of the narrower dtype (bfloat16 2^-8, "
	       "float16 "
	       "2^-11, float32 2^-24)\n"
	       "  relative difference ||A-B|| / ||B|| at most T = 40 u + 1024 s, s = 2^-24 (2^-53 "
	       "if "
	       "both are float64), and 1/4 at most\n"
	       "  largest difference max|A-B| at most 4 T max|B|\n"
	       "  without elements: mean and deviation at most T ||B|| / sqrt(n) apart, l2 T "
	       "||B||, max "
	       "and min 4 T max|B|\n"
	       "  NaN and Inf at the same elements, or as many of them; integers equal; equal "
	       "digests are "
	       "equal bit by bit\n";
}

static double power_of_two(int exponent)
{
	double power = 1;

	for (; exponent < 0; exponent++) {
		power /= 2;
	}
	return power;
}

static enum hk_dtype narrowest(enum hk_dtype a, enum hk_dtype b, enum hk_dtype least)
{
	enum hk_dtype narrower = hk_rounding_narrower(a, b);

	return least == HK_DTYPE_NONE ? narrower : hk_rounding_narrower(narrower, least);
}

struct hk_tolerance hk_tolerance_of(enum hk_dtype a, enum hk_dtype b, enum hk_dtype least,
				    double factor)
{
	struct hk_tolerance tolerance = {.narrower = narrowest(a, b, least)};
	struct hk_rounding rounding = hk_rounding_of(tolerance.narrower);

	if (!rounding.digits) {
		return tolerance;
	}
	int of_sums = tolerance.narrower == HK_DTYPE_F64 ? rounding.digits : 24;
	double relative =
	    OWN_ROUNDINGS * power_of_two(-rounding.digits) + SUM_ROUNDINGS * power_of_two(-of_sums);
	relative = relative < RELATIVE_MOST ? relative : RELATIVE_MOST;
	tolerance.relative = factor * relative;
	tolerance.largest = factor * relative * LARGEST;
	tolerance.absolute =
	    factor * OWN_ROUNDINGS * power_of_two(rounding.least - rounding.digits);
	return tolerance;
}
