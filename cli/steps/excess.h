/* excess.h: the function in which one rank spends more time than the others, by the sums of the
 * report. They know functions whose calls are timed but not recorded, not when they took longer.
 * Locked by the caller.
 */
#ifndef HK_CLI_STEPS_EXCESS_H
#define HK_CLI_STEPS_EXCESS_H

#include "report/model/report.h"

struct hk_excess {
	const char *function;	  /* the report's; NULL: there is none */
	double own_ns, others_ns; /* of the rank, and the median of the others */
};

/* Finds the function outside of MPI in which RANK spends most time beyond the median of the others:
 * a quarter more than they do, and about as much as CHANGE_NS, what its steps took longer in all.
 * The functions that it calls do not count. Returns 0 or -ENOMEM. */
int hk_excess_find(const struct hk_report *report, int32_t rank, double change_ns,
		   struct hk_excess *ret_excess);

#endif
