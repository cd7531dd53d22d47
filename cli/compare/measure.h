/* measure.h: compares the elements, or the statistics, of matched rows. The elements of one pair of
 * rows are in memory at a time. One owner, no locking. */
#ifndef HK_CLI_COMPARE_MEASURE_H
#define HK_CLI_COMPARE_MEASURE_H

#include "cli/compare/comparison.h"

/* Sets level, reason, shape, error and, with elements, the numbers of MATCH of PAIR. A match that
 * lacks a side stays as it is. Returns 0 or -ENOMEM. */
int hk_measure_match(struct hk_rank_pair *pair, struct hk_match *match);

#endif
