/* ranks.h: pairs the ranks of two dumps. */
#ifndef HK_CLI_COMPARE_RANKS_H
#define HK_CLI_COMPARE_RANKS_H

#include "cli/compare/compare.h"

/* Parts of both sides that are compared with each other. */
struct hk_ranks_pair {
	size_t a, b; /* parts */
};

/* Pairs the parts of A and B: as the mapping says, else by number, or in the order of the numbers
 * if both sides have as many, or each with the only one of the other side. *RET_PAIRS is malloc'd.
 * Returns the number of pairs, or -ENOMEM. */
ssize_t hk_ranks_pair(const struct hk_comparison *comparison,
		      const struct hk_compare_options *options, struct hk_ranks_pair **ret_pairs);

#endif
