/* numbers: the module tensor as functions that ctypes calls, each kind of loops in turn. */
#include <errno.h>

#include "tensor/difference.h"
#include "tensor/kernels.h"
#include "tensor/statistics.h"

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

int numbers_difference(const struct hk_tensor *a, const struct hk_tensor *b,
		       struct hk_difference *difference)
{
	return hk_difference_take(a, b, difference);
}

enum hk_dtype numbers_dtype(const char *name)
{
	return hk_dtype_parse(name);
}
