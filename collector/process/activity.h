/* activity.h: samples the statistics of a main process while it lives, and keeps how they grew over
 * time (course.h).
 *
 * It needs no records, so it is complete even if records are lost, evicted, or not made. For a site
 * at level sample it has the time of the timed calls. Samples are taken at every pass at first, and
 * later once per bin, but at least every 500 ms. The samples also tell since when the process is
 * quiet.
 */
#ifndef HK_COLLECTOR_PROCESS_ACTIVITY_H
#define HK_COLLECTOR_PROCESS_ACTIVITY_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_process;
struct hk_activity;

/* Samples PROCESS, which has a segment, if that is due at NOW_NS (monotonic), or in any case if it
 * is the last time. */
void hk_activity_sample(struct hk_process *process, uint64_t now_ns);
void hk_activity_sample_last(struct hk_process *process);

/* Continues the activity of PROCESS from FRAME, the state that an earlier collector kept. */
void hk_activity_inherit(struct hk_process *process, const Hk__Process *frame);

/* Updates `activity` and `quiet_ticks` in the state of PROCESS to the last sample. Returns 0 or
 * -ENOMEM. */
int hk_activity_refresh(struct hk_process *process);

/* Frees; accepts NULL, returns NULL. */
struct hk_activity *hk_activity_free(struct hk_activity *activity);

#endif
