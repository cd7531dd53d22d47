#include "tensor/verdict.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "tensor/real.h"
#include "tensor/rounding.h"

/* Where the sums of two tensors are as near as this, they have the same addends: one element that
 * is rounded otherwise would show, if there are not too many. */
#define SAME_SUM 0x1p-51
#define SAME_SUM_BITS 48

struct judging {
	const struct hk_verdict_side *a, *b;
	const struct hk_difference *difference;
	const struct hk_tolerance *tolerance;
	char *reason;
};

__attribute__((format(printf, 3, 4))) static enum hk_verdict
say(const struct judging *judging, enum hk_verdict verdict, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(judging->reason, HK_VERDICT_ROOM, format, arguments);
	va_end(arguments);
	return verdict;
}

static bool is_known(double x)
{
	return x == x;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

static double largest(const struct hk_statistics *statistics)
{
	double most = larger(hk_absolute(statistics->min), hk_absolute(statistics->max));

	return is_known(most) ? most : 0;
}

static uint64_t finite_of(const struct hk_statistics *statistics)
{
	return statistics->count - statistics->nans - statistics->positive_infs -
	       statistics->negative_infs;
}

/* The size of an element: the root of the mean square, or the largest one where that is not known.
 */
static double scale_of(const struct hk_statistics *statistics)
{
	uint64_t count = finite_of(statistics);

	if (!is_known(statistics->l2)) {
		return largest(statistics);
	}
	return count ? statistics->l2 / __builtin_sqrt((double)count) : 0;
}

/* Shapes are the same but for dimensions of one element. */
static bool same_shape(const struct hk_verdict_side *a, const struct hk_verdict_side *b)
{
	uint32_t i = 0, k = 0;

	for (;;) {
		while (i < a->dimensions && a->shape[i] == 1) {
			i++;
		}
		while (k < b->dimensions && b->shape[k] == 1) {
			k++;
		}
		if (i == a->dimensions || k == b->dimensions) {
			return i == a->dimensions && k == b->dimensions;
		}
		if (a->shape[i++] != b->shape[k++]) {
			return false;
		}
	}
}

/* Whether A and B are the same, or one of them is not known. */
static bool is_same_as_known(double a, double b)
{
	return a == b || !is_known(a) || !is_known(b);
}

/* NaN and Inf that one side has and the other has not. */
static bool judge_special(const struct judging *judging, enum hk_verdict *verdict)
{
	const struct hk_statistics *a = judging->a->statistics, *b = judging->b->statistics;
	const struct hk_difference *difference = judging->difference;

	if (a->nans != b->nans || a->positive_infs != b->positive_infs ||
	    a->negative_infs != b->negative_infs) {
		*verdict =
		    say(judging, HK_VERDICT_DIFFERS,
			"%llu NaN, %llu +Inf, %llu -Inf; in B %llu NaN, %llu +Inf, %llu -Inf",
			(unsigned long long)a->nans, (unsigned long long)a->positive_infs,
			(unsigned long long)a->negative_infs, (unsigned long long)b->nans,
			(unsigned long long)b->positive_infs, (unsigned long long)b->negative_infs);
		return true;
	}
	if (difference && (difference->only_a || difference->only_b)) {
		*verdict = say(judging, HK_VERDICT_DIFFERS,
			       "NaN or Inf at other elements: %llu in A, %llu in B",
			       (unsigned long long)difference->only_a,
			       (unsigned long long)difference->only_b);
		return true;
	}
	return false;
}

/* Integers of one dtype with other digests differ, even if only beyond the digits of a double. */
static enum hk_verdict judge_integers(const struct judging *judging)
{
	const struct hk_statistics *a = judging->a->statistics, *b = judging->b->statistics;
	bool differ = judging->a->dtype == judging->b->dtype && a->digest && b->digest;

	if (judging->difference && (!differ || judging->difference->equal < a->count)) {
		uint64_t other = a->count - judging->difference->equal;
		return say(judging, other ? HK_VERDICT_DIFFERS : HK_VERDICT_AGREES,
			   "%llu of %llu integers differ", (unsigned long long)other,
			   (unsigned long long)a->count);
	}
	if (differ) {
		return say(judging, HK_VERDICT_DIFFERS, "integers differ: other digests");
	}
	if (is_same_as_known(a->min, b->min) && is_same_as_known(a->max, b->max) &&
	    is_same_as_known(a->mean, b->mean)) {
		return say(judging, HK_VERDICT_AGREES,
			   "integers with the same min, max and mean; elements not compared");
	}
	return say(judging, HK_VERDICT_DIFFERS,
		   "integers with min %g, max %g, mean %g; in B %g, %g, %g", a->min, a->max,
		   a->mean, b->min, b->max, b->mean);
}

/* By the elements. The tail of a reason says how many of them are apart. */
static enum hk_verdict judge_elements(const struct judging *judging)
{
	const struct hk_difference *difference = judging->difference;
	const struct hk_tolerance *tolerance = judging->tolerance;
	const struct hk_statistics *b = judging->b->statistics;
	const char *name = hk_dtype_name(tolerance->narrower);
	double root = __builtin_sqrt((double)finite_of(b));
	double allowed = tolerance->relative * scale_of(b) * root + tolerance->absolute * root;
	double most = tolerance->largest * largest(b) + tolerance->absolute;
	double norm = scale_of(b) * root;

	if (difference->equal == difference->count) {
		return say(judging, HK_VERDICT_AGREES, "all elements are equal");
	}
	if (!(difference->euclidean <= allowed)) {
		return say(judging, HK_VERDICT_DIFFERS,
			   "%.3g %% beyond 1/1000; %s explains %.3g %%; relative difference %.3g, "
			   "allowed %.3g",
			   100 * (1 - difference->within_1000), name,
			   100 * difference->within_dtype, difference->euclidean / norm,
			   tolerance->relative);
	}
	if (!(difference->max_abs <= most)) {
		return say(
		    judging, HK_VERDICT_DIFFERS, "element %llu is %.3g apart, %s allows %.3g",
		    (unsigned long long)difference->max_abs_at, difference->max_abs, name, most);
	}
	return say(judging, HK_VERDICT_AGREES, "relative difference %.3g, %s allows %.3g",
		   norm > 0 ? difference->euclidean / norm : 0.0, name, tolerance->relative);
}

/* Whether one element that is rounded otherwise would show in the sums. */
static bool shows_each_rounding(const struct judging *judging)
{
	int digits = hk_rounding_of(judging->a->dtype).digits;
	uint64_t count = judging->a->statistics->count;

	return digits && digits < SAME_SUM_BITS && count >> (SAME_SUM_BITS - digits) == 0;
}

/* Other digests with the same sums: a transposition. Signs of zeros and bits of NaN change the
 * digest too, which is no fault. */
static bool is_reordered(const struct judging *judging)
{
	const struct hk_statistics *a = judging->a->statistics, *b = judging->b->statistics;

	return judging->a->dtype == judging->b->dtype && a->digest && b->digest &&
	       a->digest != b->digest && shows_each_rounding(judging) && !a->zeros && !b->zeros &&
	       !a->nans && a->min == b->min && a->max == b->max && a->min != a->max &&
	       hk_absolute(a->mean - b->mean) <= SAME_SUM * scale_of(b) &&
	       hk_absolute(a->l2 - b->l2) <= SAME_SUM * b->l2;
}

struct figure {
	const char *name;
	double a, b, allowed;
};

/* A root mean square of the difference within the tolerance keeps these figures as near. */
static enum hk_verdict judge_statistics(const struct judging *judging)
{
	const struct hk_statistics *a = judging->a->statistics, *b = judging->b->statistics;
	const struct hk_tolerance *tolerance = judging->tolerance;
	double each = tolerance->relative * scale_of(b) + tolerance->absolute;
	double most = tolerance->largest * largest(b) + tolerance->absolute;
	double root = __builtin_sqrt((double)finite_of(b));
	const struct figure figures[] = {
	    {"l2", a->l2, b->l2, each * root},
	    {"mean", a->mean, b->mean, each},
	    {"deviation", a->deviation, b->deviation, each},
	    {"max", a->max, b->max, most},
	    {"min", a->min, b->min, most},
	};
	const char *name = hk_dtype_name(tolerance->narrower);
	unsigned compared = 0;

	if (is_reordered(judging)) {
		return say(judging, HK_VERDICT_DIFFERS,
			   "the same numbers in another order: other digests, same statistics");
	}
	for (size_t i = 0; i < sizeof(figures) / sizeof(*figures); i++) {
		double apart = hk_absolute(figures[i].a - figures[i].b);
		compared += is_known(apart);
		if (apart > figures[i].allowed) {
			return say(judging, HK_VERDICT_DIFFERS,
				   "%s %.6g, in B %.6g: %.3g apart, %s allows %.3g",
				   figures[i].name, figures[i].a, figures[i].b, apart, name,
				   figures[i].allowed);
		}
	}
	if (!compared && finite_of(b)) {
		return say(judging, HK_VERDICT_NOT_COMPARED, "no statistics that both have");
	}
	return say(judging, HK_VERDICT_AGREES,
		   "statistics as near as %s allows; elements not compared", name);
}

/* Returns whether there is something to compare; otherwise *VERDICT says why not. */
static bool judge_kind(const struct judging *judging, enum hk_verdict *verdict)
{
	const struct hk_verdict_side *a = judging->a, *b = judging->b;

	if (!hk_dtype_bytes(a->dtype) || !hk_dtype_bytes(b->dtype)) {
		*verdict = say(judging, HK_VERDICT_NOT_COMPARED, "the dtype of %s is unknown",
			       hk_dtype_bytes(a->dtype) ? "B" : "A");
		return false;
	}
	if (a->statistics->count != b->statistics->count) {
		*verdict = say(judging, HK_VERDICT_NOT_COMPARED, "%llu elements in A, %llu in B",
			       (unsigned long long)a->statistics->count,
			       (unsigned long long)b->statistics->count);
		return false;
	}
	if (!same_shape(a, b)) {
		*verdict = say(judging, HK_VERDICT_NOT_COMPARED,
			       "as many elements in A as in B, but other shapes");
		return false;
	}
	return true;
}

enum hk_verdict hk_verdict_take(const struct hk_verdict_side *a, const struct hk_verdict_side *b,
				const struct hk_difference *difference,
				const struct hk_tolerance *tolerance, char reason[HK_VERDICT_ROOM])
{
	struct judging judging = {a, b, difference, tolerance, reason};
	enum hk_verdict verdict;

	if (!judge_kind(&judging, &verdict)) {
		return verdict;
	}
	if (a->statistics->count == 0) {
		return say(&judging, HK_VERDICT_AGREES, "both are empty");
	}
	if (a->dtype == b->dtype && a->statistics->digest &&
	    a->statistics->digest == b->statistics->digest) {
		return say(&judging, HK_VERDICT_AGREES, "equal bit by bit");
	}
	if (judge_special(&judging, &verdict)) {
		return verdict;
	}
	if (!hk_rounding_of(tolerance->narrower).digits) {
		return judge_integers(&judging);
	}
	return difference ? judge_elements(&judging) : judge_statistics(&judging);
}
