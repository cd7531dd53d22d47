/* late.h: finds the rank that works longer than the others, beyond what chance explains.
 *
 * The job's time is cut into batches of equal work. In each batch a rank's work is compared with
 * the median work of the others, so that delays of all ranks cancel out. A rank is late if three
 * conditions hold: its excess matters, it works longer in 12 of 16 batches, and the excess is large
 * against the variation between batches. Pure functions, any thread.
 */
#ifndef HK_REPORT_FINDINGS_LATE_H
#define HK_REPORT_FINDINGS_LATE_H

#include <stdbool.h>
#include <stddef.h>

#define HK_LATE_BATCHES 16u
#define HK_LATE_EXCESS_LEAST 0.05 /* of a late rank */

struct hk_late {
	size_t rank;	/* index in the input */
	double excess;	/* of its work over the others', as a share of theirs */
	double error;	/* standard error of `excess` */
	double typical; /* median over the batches: of the excess over the others' mean batch */
	double work, others; /* sums over all batches, in the unit of the input */
};

/* Finds the late rank; if several are late, the one with the largest excess. WORK has
 * HK_LATE_BATCHES values for each of COUNT ranks, one rank after the other. Returns 1, or 0 if no
 * rank is late or COUNT is below 2, or -ENOMEM. */
int hk_late_find(const double *work, size_t count, struct hk_late *ret_late);

/* Compares rank NUMBER of COUNT, 2 or more, with the others, whether it is late or not. All numbers
 * are 0 if the others have no work. Returns 0 or -ENOMEM. */
int hk_late_compare(const double *work, size_t count, size_t number, struct hk_late *ret_late);

#endif
