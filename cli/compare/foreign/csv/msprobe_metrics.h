/* msprobe_metrics.h: the six numbers by which msprobe compares the elements of two tensors. Pure.
 */
#ifndef HK_CLI_COMPARE_FOREIGN_CSV_MSPROBE_METRICS_H
#define HK_CLI_COMPARE_FOREIGN_CSV_MSPROBE_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/dtype.h"

struct hk_msprobe_metrics {
	bool apart;    /* NaN or Inf are at other elements: nothing else is known */
	double cosine; /* NaN if one side alone is zero */
	double euclidean, max_abs;
	double max_rel; /* where B is 0, both are raised by the distance of 1 to the next number */
	double within_1000, within_5000; /* shares */
};

/* Compares COUNT > 0 elements of each side in double. NaN and Inf at the same elements count as 0.
 */
void hk_msprobe_metrics_take(struct hk_msprobe_metrics *metrics, const void *a,
			     enum hk_dtype a_dtype, const void *b, enum hk_dtype b_dtype,
			     uint64_t count);

#endif
