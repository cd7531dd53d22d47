/* shift.h: one moment from which the steps of a job take longer. */
#ifndef HK_CLI_STEPS_SHIFT_H
#define HK_CLI_STEPS_SHIFT_H

#include "cli/steps/steps.h"

struct hk_shift {
	bool own;	     /* the own time of `ranks` changed; otherwise the duration of steps */
	size_t from, at, to; /* bins: the level was another one in [from, at) than in [at, to) */
	size_t *ranks;	     /* indices in order, the one with the largest change: `leader` */
	size_t rank_count, leader;
	double before_ns, after_ns; /* medians: own time of the leader, or duration of steps */
	double step_before_ns, step_after_ns;	  /* medians of the steps' durations */
	double others_before_ns, others_after_ns; /* medians of own times of other ranks; 0: none */
	double chance;				  /* that equal steps look like this */
};

#endif
