/* measure.h: what a call leaves behind: statistics, values, a record. General registers only. */
#ifndef HK_AGENT_CALL_MEASURE_H
#define HK_AGENT_CALL_MEASURE_H

#include <stdint.h>

#include "agent/frame/call.h"
#include "agent/frame/hot.h"
#include "agent/record/thread.h"

/* Adds the duration NS of CALL, which returned, to the books of THREAD and records it. */
void hk_call_measure(struct hk_thread *thread, struct hk_call *call, uint64_t ns);

/* OPEN, of THREAD, will never return: gives it its record, and its slot back to us. */
void hk_call_left(struct hk_thread *thread, const struct hk_open_call *open);

/* The first call of SITE, whose slot is lazy, returned to RETURN_ADDRESS, or 0: was left. Puts the
 * thunk back into the slot, now or with the next scan. */
void hk_call_rearm(const struct hk_site_hot *site, uint64_t return_address);

/* For what is counted and recorded like a call without being one (annotate.h). CALL is ready:
 * thread, cell, site, depth and start are set. Begins a range, which RANGE is to remember; ends it;
 * notes an instant with the value of its site's key, if it has one. */
void hk_call_begin_range(struct hk_call *call, struct hk_range *range);
void hk_call_end_range(struct hk_thread *thread, const struct hk_range *range);
void hk_call_note_instant(struct hk_call *call, const uint64_t *value);

#endif
