/* control.h: applies the levels that a collector sets while the process runs (ring/segment.h:
 * rules, ceilings, HK_SEGMENT_OFF), and the pauses of the program itself.
 *
 * The collector raises the segment's generation after it wrote. The next hooked call of any thread
 * and level then comes here. A site that is turned off keeps its thunk, which then only jumps to
 * the function, so that the site can be turned on again.
 */
#ifndef HK_AGENT_CALL_CONTROL_H
#define HK_AGENT_CALL_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

/* The last generation that was applied. While it differs from the segment's, calls of sites that
 * are off come to hk_control_poll. Read by the trampoline. */
extern uint32_t hk_generation_seen;

/* Puts in force what the collector published with GENERATION, which is new, and looks for new
 * objects. Takes the process lock and the loader's lock. Called with signals blocked and
 * hk_in_agent set. Returns false if a lock is busy: the next call must try again. */
bool hk_control_apply(uint32_t generation);

/* Lets the next hooked call of any thread put a pause in force, or end it: hk_pause. Any thread,
 * and in signal handlers. */
void hk_control_pause(bool paused);

#endif
