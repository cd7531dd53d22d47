/* trigger.h: watches the jobs of a collector for the conditions of their plans, keeps the records
 * around the moment when one comes true, and raises levels for a while.
 *
 * The collector that keeps the whole job decides: a leaf passes its plan on, and gets the levels as
 * it gets all levels of the root. The job's message says what has fired and what was kept, so the
 * next collector continues. One thread.
 */
#ifndef HK_COLLECTOR_TRIGGER_TRIGGER_H
#define HK_COLLECTOR_TRIGGER_TRIGGER_H

#include <stdint.h>

#include "collector/model/job.h"
#include "schema/wire.pb-c.h"

#define HK_TRIGGERS_MAX 8u /* that fire in a job */

struct hk_collector;

/* Gives JOB a plan, unless it has one. PLAN may be NULL, or anything that a client sent. */
void hk_triggers_adopt(struct hk_job *job, const Hk__TriggerPlan *plan);

/* Looks at all jobs, as far as that is due at NOW_NS (monotonic), and copies records. */
void hk_triggers_run(struct hk_collector *collector, uint64_t now_ns);

/* Fires by hand. Returns 0 with the trigger, which the job owns, -EXDEV on a leaf, -EDQUOT if
 * HK_TRIGGERS_MAX have fired, or another -errno of keeping its records. */
int hk_triggers_fire(struct hk_collector *collector, struct hk_job *job, Hk__Trigger **ret_trigger);

/* An hk_job_observer: ends what is kept of a job that ends. */
int hk_triggers_observe(struct hk_collector *collector, struct hk_job *job,
			enum hk_job_event event);

#endif
