/* match.h: pairs the rows of two ranks: steps by number, calls by name and place in the sequence,
 * rows by role and slot. One owner, no locking. */
#ifndef HK_CLI_COMPARE_MATCH_H
#define HK_CLI_COMPARE_MATCH_H

#include "cli/compare/comparison.h"

/* Fills the matches of PAIR, whose values and calls are there, and sets the twins of its calls.
 * Steps are paired by number, or k-th to k-th if STEPS_IN_ORDER or if no number is on both sides.
 * Returns 0 or -ENOMEM. */
int hk_match_rank(struct hk_rank_pair *pair, bool steps_in_order);

#endif
