/* activity.h: what a main process did when: looks at its statistics while it lives, and keeps how
 * they grew (course.h).
 *
 * It needs no records, so it is whole where records are lost, given up, or not made. Time in calls
 * of a site at level sample is that of the calls that were timed. Looks come at every pass in the
 * beginning and once per bin later.
 */
#ifndef HK_COLLECTOR_PROCESS_ACTIVITY_H
#define HK_COLLECTOR_PROCESS_ACTIVITY_H

#include <stdint.h>

#include "schema/wire.pb-c.h"

struct hk_process;
struct hk_activity;

/* Looks at PROCESS, which has a segment, if that is due at NOW_NS (monotonic); the last time:
 * whether due or not. */
void hk_activity_sample(struct hk_process *process, uint64_t now_ns);
void hk_activity_sample_last(struct hk_process *process);

/* Continues the activity of PROCESS from FRAME, the state that an earlier collector kept. */
void hk_activity_inherit(struct hk_process *process, const Hk__Process *frame);

/* Updates `activity` in the state of PROCESS to the last sample. Returns 0 or -ENOMEM. */
int hk_activity_refresh(struct hk_process *process);

/* Frees; accepts NULL, returns NULL. */
struct hk_activity *hk_activity_free(struct hk_activity *activity);

#endif
