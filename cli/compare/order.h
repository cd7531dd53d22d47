/* order.h: the rows of a comparison from worst to best. */
#ifndef HK_CLI_COMPARE_ORDER_H
#define HK_CLI_COMPARE_ORDER_H

#include "cli/compare/comparison.h"

struct hk_order_row {
	uint32_t pair, match;
};

/* The rows of COMPARISON, those that agree only if ALL: the first divergence, then rows that
 * differ, rows that follow, unmatched rows and rows that agree; the largest error first. The caller
 * frees the list. Returns NULL without memory. */
struct hk_order_row *hk_order_rows(const struct hk_comparison *comparison, bool all,
				   size_t *ret_count);

#endif
