/* ptdbg_metrics.h: the five numbers by which ptdbg_ascend compares two arrays. Pure. */
#ifndef HK_CLI_COMPARE_FOREIGN_CSV_PTDBG_METRICS_H
#define HK_CLI_COMPARE_FOREIGN_CSV_PTDBG_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/dtype.h"

/* NaN and Inf are in all of them, as NumPy has it. */
struct hk_ptdbg_metrics {
	double cosine; /* 0.5 + 0.5 * cosine: 0 to 1; NaN if one side alone is zero */
	double rmse, mape, max_abs, max_rel; /* mape in percent */
	bool a_zero, b_zero;
};

/* Compares COUNT > 0 elements of each side in double. */
void hk_ptdbg_metrics_take(struct hk_ptdbg_metrics *metrics, const void *a, enum hk_dtype a_dtype,
			   const void *b, enum hk_dtype b_dtype, uint64_t count);

#endif
