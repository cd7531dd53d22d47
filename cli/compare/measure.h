/* measure.h: compares the elements, or the statistics, of matched rows. The elements of one pair of
 * rows are in memory at a time. One owner, no locking. */
#ifndef HK_CLI_COMPARE_MEASURE_H
#define HK_CLI_COMPARE_MEASURE_H

#include "cli/compare/comparison.h"
#include "cli/compare/shards.h"
#include "tensor/verdict.h"

/* Sets level, reason, shape, error and, with elements, the numbers of MATCH of PAIR. A match that
 * lacks a side stays as it is. Sides that SHARDS join are compared as a whole. Returns 0 or
 * -ENOMEM. */
int hk_measure_match(struct hk_shards *shards, struct hk_rank_pair *pair, struct hk_match *match);

/* The verdict about rows A and B of MATCH, and its REASON. DIFFERENCE: NULL with statistics only.
 */
enum hk_verdict hk_measure_verdict(const struct hk_rank_pair *pair, const struct hk_match *match,
				   const struct hk_dump_row *a, const struct hk_dump_row *b,
				   const struct hk_difference *difference,
				   char reason[HK_VERDICT_ROOM]);

#endif
