/* numbers: the module tensor as functions that ctypes calls, each kind of loops in turn. */
#include <errno.h>
#include <stdbool.h>

#include "tensor/difference.h"
#include "tensor/loops/kernels.h"
#include "tensor/statistics.h"
#include "tensor/verdict.h"

/* The name of the loops INDEX, "" if this machine cannot run them, NULL behind the last. */
const char *numbers_kernels(unsigned index)
{
	const struct hk_kernels *kernels = hk_kernels_all[index];

	return !kernels ? NULL : kernels->usable() ? kernels->name : "";
}

const char *numbers_best(void)
{
	return hk_kernels_best()->name;
}

int numbers_statistics(unsigned index, const struct hk_tensor *tensor,
		       struct hk_statistics *statistics)
{
	return hk_statistics_take_with(hk_kernels_all[index], tensor, statistics);
}

/* Takes the statistics TIMES times, without ctypes between. */
void numbers_repeat(const struct hk_tensor *tensor, unsigned times)
{
	struct hk_statistics statistics;

	for (; times; times--) {
		hk_statistics_take(tensor, &statistics);
	}
}

int numbers_difference(const struct hk_tensor *a, const struct hk_tensor *b,
		       struct hk_difference *difference, int plain)
{
	return plain ? hk_difference_take_plain(a, b, difference)
		     : hk_difference_take(a, b, difference);
}

enum hk_dtype numbers_dtype(const char *name)
{
	return hk_dtype_parse(name);
}

/* Judges by elements if ELEMENTS, otherwise by the statistics of both. LEAST as hk_tolerance_of's.
 */
int numbers_verdict(const struct hk_tensor *a, const struct hk_tensor *b, enum hk_dtype least,
		    int elements, char reason[HK_VERDICT_ROOM])
{
	struct hk_statistics of_a, of_b;
	struct hk_difference difference;
	struct hk_verdict_side side_a = {a->dtype, a->dimensions, a->shape, &of_a};
	struct hk_verdict_side side_b = {b->dtype, b->dimensions, b->shape, &of_b};
	struct hk_tolerance tolerance = hk_tolerance_of(a->dtype, b->dtype, least, 1);

	if (hk_statistics_take(a, &of_a) || hk_statistics_take(b, &of_b)) {
		return -EINVAL;
	}
	bool has = elements && !hk_difference_take(a, b, &difference);
	return (int)hk_verdict_take(&side_a, &side_b, has ? &difference : NULL, &tolerance, reason);
}

const char *numbers_rule(void)
{
	return hk_tolerance_rule();
}
