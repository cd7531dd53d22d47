/* calibrate.h: what a hooked call costs in this process, measured through a real thunk on a
 * function that does nothing. */
#ifndef HK_AGENT_CALL_CALIBRATE_H
#define HK_AGENT_CALL_CALIBRATE_H

#include "agent/record/thread.h"
#include "ring/segment.h"

/* Measures with the calling THREAD's state, about a hundred microseconds, and publishes in HEADER.
 * OCTAVE is the file offset of an octave of buckets nobody else uses. */
void hk_calibrate(struct hk_thread *thread, uint32_t octave, struct hk_segment_header *header);

#endif
