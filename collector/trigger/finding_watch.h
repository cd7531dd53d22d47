/* finding_watch.h: whether a running job shows a finding of a kind that a condition names. */
#ifndef HK_COLLECTOR_TRIGGER_FINDING_WATCH_H
#define HK_COLLECTOR_TRIGGER_FINDING_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "trigger/plan.h"

/* A look at more takes seconds, in which the collector does nothing else. */
#define HK_FINDING_WATCH_PROCESSES 2048u

struct hk_job;
struct hk_watch;

/* Zeroed: not looked yet. */
struct hk_finding_watch {
	uint64_t due_ns; /* monotonic: next look */
	bool too_many;	 /* processes: refused, and that was told */
};

/* Makes the findings of JOB if PLAN names a kind that needs them, and notes in WATCH those that
 * are there. Takes at most a fiftieth of the time: between two looks nothing is noted. In a job of
 * more than HK_FINDING_WATCH_PROCESSES it refuses the conditions, once. */
void hk_finding_watch_look(struct hk_finding_watch *findings, struct hk_job *job,
			   const struct hk_plan *plan, struct hk_watch *watch, uint64_t now_ns);

#endif
