/* shifts.h: moments from which the steps of a job take longer, and the ranks that are the reason.
 *
 * A rank is a reason if its own time changes, beyond chance. Ranks that change at the same moment
 * are one shift. If the steps take longer and no rank's own time has changed then, all ranks do:
 * they communicate longer. Pure functions of the steps, any thread.
 */
#ifndef HK_CLI_STEPS_SHIFTS_H
#define HK_CLI_STEPS_SHIFTS_H

#include "cli/steps/steps.h"

#define HK_SHIFTS_MOST 4u

struct hk_shift {
	bool own;	     /* the own time of `ranks` changed; otherwise the duration of steps */
	size_t from, at, to; /* bins: the level was another one in [from, at) than in [at, to) */
	size_t *ranks;	     /* indices in order, the one with the largest change: `leader` */
	size_t rank_count, leader;
	double before_ns, after_ns; /* medians: own time of the leader, or duration of steps */
	double step_before_ns, step_after_ns;	  /* medians of the steps' durations */
	double others_before_ns, others_after_ns; /* medians of own times of other ranks; 0: none */
	double chance;				  /* that it is none */
};

struct hk_shifts {
	struct hk_shift list[HK_SHIFTS_MOST]; /* the most expensive first */
	size_t count;
};

/* Finds the shifts of STEPS. Returns 0 or -ENOMEM. To be freed with hk_shifts_fini in every case.
 */
int hk_shifts_find(const struct hk_steps *steps, struct hk_shifts *ret_shifts);
void hk_shifts_fini(struct hk_shifts *shifts);

#endif
