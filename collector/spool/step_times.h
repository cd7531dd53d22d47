/* step_times.h: how long the steps are that a process marks by hk_step: from one mark to the next.
 *
 * Gets the records of every run. After lost records the step under way is not counted. One thread.
 */
#ifndef HK_COLLECTOR_SPOOL_STEP_TIMES_H
#define HK_COLLECTOR_SPOOL_STEP_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "chunk/codec/format.h"
#include "chunk/codec/record.h"
#include "ring/reader.h"
#include "schema/wire.pb-c.h"

#define HK_STEP_SITES 8u /* of a process: places that mark steps */

/* Zeroed: no mark yet. */
struct hk_step_times {
	uint32_t looked; /* sites that were looked at */
	uint32_t sites[HK_STEP_SITES];
	uint32_t site_count;
	uint64_t lost;	     /* records of the process at the last mark */
	uint64_t last_ticks; /* of the last mark; 0: none */
	uint64_t counted;    /* steps */
	uint64_t shown;	     /* steps in the last message */
	struct hk_histogram *histogram;
};

void hk_step_times_fini(struct hk_step_times *steps);

/* Looks at sites that are new. Returns whether the process marks steps. */
bool hk_step_times_wanted(struct hk_step_times *steps, struct hk_reader *reader);

/* Adds RECORD if it is a mark. LOST: records of the process that were lost so far. */
void hk_step_times_add(struct hk_step_times *steps, const struct hk_record *record,
		       uint64_t tick_ns_q32, uint64_t lost);

/* Brings the message *STATE up to date. Returns 0 or -ENOMEM. */
int hk_step_times_write(struct hk_step_times *steps, Hk__StepTimes **state);

#endif
