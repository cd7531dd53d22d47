/* first.h: finds the first operator that went wrong, over all ranks. One owner, no locking. */
#ifndef HK_CLI_COMPARE_FIRST_H
#define HK_CLI_COMPARE_FIRST_H

#include "cli/compare/judge.h"

/* Sets comparison->first. JUDGES has one for each pair of ranks. The earliest step wins, then the
 * earliest place in the sequence of calls. Returns 0 or -ENOMEM. */
int hk_first_find(struct hk_comparison *comparison, const struct hk_judge *judges);

#endif
