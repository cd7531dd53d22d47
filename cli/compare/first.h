/* first.h: finds the first operator that went wrong, over all ranks. One owner, no locking. */
#ifndef HK_CLI_COMPARE_FIRST_H
#define HK_CLI_COMPARE_FIRST_H

#include "cli/compare/judge.h"

/* An operator is blamed only if its output is off by more than this many times its inputs: a
 * healthy operator in a narrower dtype amplifies rounding, but not by that much. */
#define HK_FIRST_AMPLIFICATION 64.0

/* The error of an output that inputs as in JUDGED explain. BACKGROUND: the largest error before. */
double hk_first_explained(const struct hk_judged *judged, double background);

/* Sets comparison->first. JUDGES has one for each pair of ranks. The earliest step wins, then the
 * earliest place in the sequence of calls. Returns 0 or -ENOMEM. */
int hk_first_find(struct hk_comparison *comparison, const struct hk_judge *judges);

#endif
