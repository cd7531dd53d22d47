/* condition.h: one condition of --trigger, as typed. Pure functions, any thread.
 *
 *   FUNCTION p99>TIME        p50, p90, p99, p99.9, max or mean of one rank's calls in a second
 *   [FUNCTION] error[>N/s]   failed calls of one rank
 *   step>TIME, step>Nx       the longest step of a rank, also as a multiple of its median so far
 *   finding=KIND             a finding of `hookcli why`
 *   signal[=N]               a rank died by a signal, or for lack of memory
 *
 * FUNCTION is [library:]function with * and ?, as in --level. TIME is a number with ns, us, ms, s
 * or m.
 */
#ifndef HK_TRIGGER_CONDITION_H
#define HK_TRIGGER_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#define HK_CONDITION_BYTES 160u /* of a condition as typed, with its NUL */
#define HK_CONDITION_PATTERN_BYTES 120u
#define HK_CONDITION_SAW_BYTES 160u
#define HK_CONDITION_HAND "by hand" /* the condition of `hookcli ctl trigger` */

enum hk_condition_kind {
	HK_CONDITION_LATENCY,
	HK_CONDITION_ERROR,
	HK_CONDITION_STEP,
	HK_CONDITION_STEP_FACTOR, /* of the median so far */
	HK_CONDITION_FINDING,
	HK_CONDITION_SIGNAL,
};

enum hk_condition_statistic {
	HK_CONDITION_P50,
	HK_CONDITION_P90,
	HK_CONDITION_P99,
	HK_CONDITION_P999,
	HK_CONDITION_MAX,
	HK_CONDITION_MEAN,
	HK_CONDITION_STATISTICS,
};

struct hk_condition {
	enum hk_condition_kind kind;
	enum hk_condition_statistic statistic;	  /* of latencies */
	char pattern[HK_CONDITION_PATTERN_BYTES]; /* of functions */
	double limit;	  /* ns, errors a second, or a factor; 0: the first error fires */
	int signal;	  /* 0: any */
	char finding[32]; /* its kind */
	char text[HK_CONDITION_BYTES];
};

/* Reads TEXT. Returns 0, or -EINVAL with what would be right in *RET_WHY, a static text. */
int hk_condition_parse(const char *text, struct hk_condition *ret_condition, const char **ret_why);

/* The share of calls (0..1) that a statistic cuts off; 1 for the maximum and the mean. */
double hk_condition_quantile(enum hk_condition_statistic statistic);

/* Returns whether VALUE meets CONDITION, of a kind with a limit. */
bool hk_condition_holds(const struct hk_condition *condition, double value);

/* Writes what CONDITION saw, value against limit: "p99 21.3 ms > 10.0 ms". Returns SAW. */
const char *hk_condition_print(const struct hk_condition *condition, double value,
			       char saw[HK_CONDITION_SAW_BYTES]);

#endif
