/* leave.h: the way out of a hooked call, and what a call leaves behind. */
#ifndef HK_AGENT_CALL_LEAVE_H
#define HK_AGENT_CALL_LEAVE_H

#include <stdint.h>

#include "agent/frame/call.h"
#include "agent/record/thread.h"

/* What a function leaves in its two result registers. */
struct hk_result {
	uint64_t result, result2;
};

/* Statistics and record of a call that ended at END_TICKS; gives back the call's results, which are
 * where its caller looks for them. Runs on every hooked call: general registers only. */
struct hk_result hk_call_leave(struct hk_call *call, uint64_t end_ticks);

/* The same for a call that lasted NS and is to be counted in BUCKET, and that hk_call_leave found
 * nothing in the way of but values or a rule of errors. */
struct hk_result hk_call_leave_described(struct hk_call *call, uint64_t ns, uint64_t *bucket);

/* For what is counted and recorded like a call without being one (annotate.h). CALL is ready:
 * thread, cell, site, depth and start are set. Begins a range, which RANGE is to remember; ends it;
 * notes an instant with the value of its site's key, if it has one. */
void hk_call_begin_range(struct hk_call *call, struct hk_range *range);
void hk_call_end_range(struct hk_thread *thread, const struct hk_range *range);
void hk_call_note_instant(struct hk_call *call, const uint64_t *value);

/* Adds the duration NS of CALL, which returned, to the books of THREAD and records it. */
void hk_call_measure(struct hk_thread *thread, struct hk_call *call, uint64_t ns);

/* OPEN, of THREAD, will never return: gives it its record, and its slot back to us. */
void hk_call_left(struct hk_thread *thread, const struct hk_open_call *open);

#endif
