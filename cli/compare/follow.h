/* follow.h: tells rows that went wrong by themselves from those that follow. */
#ifndef HK_CLI_COMPARE_FOLLOW_H
#define HK_CLI_COMPARE_FOLLOW_H

#include "cli/compare/judge.h"

/* Sets the level of the rows that differ because what they were made from differs, in all pairs of
 * ranks. comparison->first is found. */
void hk_follow(struct hk_comparison *comparison, const struct hk_judge *judges);

#endif
