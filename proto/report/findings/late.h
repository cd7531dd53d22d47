/* late.h: which rank works longer than the others, beyond what chance explains.
 *
 * The job's time is cut into batches of equal work. Of each batch a rank's work is compared with
 * the median work of the others, so that what slows all of them cancels out. A rank is late if it
 * works longer by a share that matters, in nearly all batches, and by more than the differences
 * vary from batch to batch. Pure functions, any thread.
 */
#ifndef HK_REPORT_FINDINGS_LATE_H
#define HK_REPORT_FINDINGS_LATE_H

#include <stdbool.h>
#include <stddef.h>

#define HK_LATE_BATCHES 16u

struct hk_late {
	size_t rank;	     /* its place in the input */
	double excess;	     /* of its work over that of the others, as a share of theirs */
	double error;	     /* standard error of that */
	double work, others; /* over all batches, in the unit of the input */
};

/* WORK: of COUNT ranks, HK_LATE_BATCHES values each, one rank after the other. Finds the late rank,
 * of several the one with the largest excess. Returns 1, 0 if no rank is late or there are fewer
 * than two, or -ENOMEM. */
int hk_late_find(const double *work, size_t count, struct hk_late *ret_late);

#endif
