/* calibrate.h: measures what a hooked call costs in this process, through a real thunk on a
 * function that does nothing. */
#ifndef HK_AGENT_CALL_CALIBRATE_H
#define HK_AGENT_CALL_CALIBRATE_H

#include "agent/record/thread.h"
#include "ring/segment.h"

/* Measures with the state of THREAD, the calling thread, and publishes in HEADER. Takes about a
 * hundred microseconds. OCTAVE is the file offset of an octave of buckets for this alone. */
void hk_calibrate(struct hk_thread *thread, uint32_t octave, struct hk_segment_header *header);

#endif
