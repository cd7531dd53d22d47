/* fired.h: the triggers that have fired, in the job's message. No state. */
#ifndef HK_COLLECTOR_TRIGGER_FIRED_H
#define HK_COLLECTOR_TRIGGER_FIRED_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_job;

/* Why a trigger fires. */
struct hk_cause {
	const char *condition; /* as typed */
	const char *saw;       /* NULL: nothing */
	const char *function;
	int32_t rank; /* -1: none */
	double value, limit;
};

/* Gives JOB, which has no plan, a copy of PLAN. Returns 0 or -errno. */
int hk_fired_plan(struct hk_job *job, const Hk__TriggerPlan *plan);

/* Adds a trigger of JOB, which has a plan. Returns 0 or -ENOMEM. */
int hk_fired_add(struct hk_job *job, const struct hk_cause *cause, uint64_t at_unix_ns,
		 Hk__Trigger **ret_trigger);

/* Takes the trigger back that was added last: it keeps nothing. */
void hk_fired_take_back(struct hk_job *job);

/* Counts a trigger that keeps nothing, for REASON. */
void hk_fired_refuse(struct hk_job *job, const struct hk_cause *cause, const char *reason);

#endif
