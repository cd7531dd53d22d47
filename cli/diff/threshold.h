/* threshold.h: the conditions of `hookcli diff --fail-on LIST`.
 *
 *     LIST:       CONDITION, CONDITION ...       any one that holds is enough
 *     CONDITION:  [PATTERN:] FIGURE > VALUE      (also < and !=)
 *     PATTERN:    functions, with * and ? as in hooks files
 *     FIGURE:     calls errors bytes total mean p50 p90 p99 of a function, peak of memory,
 *                 wall of the job
 *     VALUE:      10%, a share of the figure before; or a change in its unit: 1ms, 64M, 3
 *
 * A condition is about the change. It holds if it holds for the whole interval of the change
 * (report/compare/compare.h), or without an interval, for the change itself. Launchers are left
 * out. Plain values; read-only once parsed.
 */
#ifndef HK_CLI_DIFF_THRESHOLD_H
#define HK_CLI_DIFF_THRESHOLD_H

#include "report/compare/compare.h"

struct hk_thresholds;

#define HK_THRESHOLD_WHY_BYTES 160

/* Parses LIST. Returns NULL if it is invalid, with the reason in WHY. */
struct hk_thresholds *hk_thresholds_new(const char *list, char why[HK_THRESHOLD_WHY_BYTES]);

/* Frees the thresholds. Accepts NULL, returns NULL. */
struct hk_thresholds *hk_thresholds_free(struct hk_thresholds *thresholds);

struct hk_exceeded {
	const char *condition; /* as typed */
	const char *figure;    /* "p99", "peak", "wall" */
	const char *role;      /* "" for the job itself */
	const char *what;      /* function, kind of memory, or "" for the job itself */
	const struct hk_compared *compared;
};

/* Calls EXCEEDED for each condition and each item (job, function, kind of memory) for which it
 * holds. Returns the number of calls, 0 if THRESHOLDS is NULL. */
size_t hk_thresholds_check(const struct hk_thresholds *thresholds, const struct hk_compare *compare,
			   void (*exceeded)(void *context, const struct hk_exceeded *found),
			   void *context);

/* A condition that neither holds nor fails with certainty for any item that it covers. */
struct hk_undecided {
	const char *condition; /* as typed */
	const char *why;       /* static */
};

/* Calls UNDECIDED for each such condition: a gate with it would let everything pass. */
void hk_thresholds_undecided(const struct hk_thresholds *thresholds,
			     const struct hk_compare *compare,
			     void (*undecided)(void *context, const struct hk_undecided *found),
			     void *context);

/* Returns the first condition, as typed, whose pattern covers no function of COMPARE, or NULL. A
 * gate with such a condition would let everything pass. */
const char *hk_thresholds_idle(const struct hk_thresholds *thresholds,
			       const struct hk_compare *compare);

#endif
