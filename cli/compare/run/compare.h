/* compare.h: compares two dumps: ranks, rows, numbers, the first divergence. Main thread only. */
#ifndef HK_CLI_COMPARE_RUN_COMPARE_H
#define HK_CLI_COMPARE_RUN_COMPARE_H

#include "cli/compare/comparison.h"
#include "cli/compare/options.h"

/* Fills COMPARISON. Returns 0, or -errno with REASON: then COMPARISON is empty. */
int hk_compare_dumps(struct hk_comparison *comparison, const struct hk_compare_options *options,
		     char reason[HK_SOURCE_REASON_BYTES]);
/* Compares the pairs of COMPARISON, whose values are open. Returns 0 or -ENOMEM. */
int hk_compare_pairs(struct hk_comparison *comparison, const struct hk_compare_options *options);

void hk_comparison_fini(struct hk_comparison *comparison);

#endif
