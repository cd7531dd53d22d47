/* changes.h: finds where the level of a series changes, beyond what chance explains.
 *
 * The series, its halves and its quarters are searched, so that a change back does not hide a
 * change. A split is tested in two ways. Ranks of values (Wilcoxon) are compared if two levels are
 * closer to them than a line. Values without outliers are compared with a line with and without a
 * step, for a series that drifts. The variance comes from single values and from batches of
 * neighbours, because neighbours may be alike. A change counts if:
 * - each side has HK_CHANGE_SIDE values, and a sixteenth of the series;
 * - the medians differ by HK_CHANGE_LEAST or more;
 * - half of that difference is there right beside the change;
 * - chance would give it in fewer than HK_CHANGE_CHANCE of all searches. All tried splits of all
 *   series count as one search.
 *
 * Pure functions, any thread.
 */
#ifndef HK_CLI_STEPS_CHANGES_H
#define HK_CLI_STEPS_CHANGES_H

#include <stddef.h>

#define HK_CHANGES_MOST 4u
#define HK_CHANGE_SIDE 8u     /* least number of values on each side */
#define HK_CHANGE_LEAST 0.05  /* of the level before */
#define HK_CHANGE_CHANCE 1e-3 /* that any series without a change has one */

struct hk_change {
	size_t from, at, to;  /* the level is one in [from, at), and another one in [at, to) */
	double before, after; /* medians */
	double chance;	      /* that it is none, in all series together; at most 1 */
};

struct hk_changes {
	struct hk_change list[HK_CHANGES_MOST]; /* in order */
	size_t count;
};

/* Finds the changes of COUNT VALUES, one of SERIES series that are searched. Returns 0 or -ENOMEM.
 */
int hk_changes_find(const double *values, size_t count, size_t series,
		    struct hk_changes *ret_changes);

/* Returns the median of COUNT VALUES, 1 or more, which it sorts. */
double hk_changes_median(double *values, size_t count);

#endif
