/* background.h: how far off rows of a rank have been so far, which tells what comes from outside of
 * the dump suddenly from what was rounded like the rest. Plain values. */
#ifndef HK_CLI_COMPARE_BACKGROUND_H
#define HK_CLI_COMPARE_BACKGROUND_H

#include "cli/compare/judge.h"

/* A healthy operator or row is off by at most this many times of what explains its error: in a
 * narrower dtype rounding is amplified, but not by that much. */
#define HK_BACKGROUND_AMPLIFICATION 64.0

struct hk_background {
	double scaled; /* the largest error of a row, outputs in the units of hk_judge_error */
	double raw;    /* the largest error of a row: sums that cancel out are far off */
};

/* Adds the rows of CALL. */
void hk_background_take(struct hk_background *background, const struct hk_judge *judge,
			const struct hk_call *call);

/* Whether the errors so far explain that of row INDEX of A, which no call of the dump made. */
bool hk_background_explains(const struct hk_background *background, const struct hk_judge *judge,
			    uint32_t index);

/* Whether its inputs explain the error of row INDEX of A, an output of the call of JUDGED. */
bool hk_background_explains_output(const struct hk_background *background,
				   const struct hk_judge *judge, const struct hk_judged *judged,
				   uint32_t index);

#endif
