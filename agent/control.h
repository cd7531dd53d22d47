/* control.h: the levels that a collector gives while the process runs (ring/segment.h: rules,
 * ceilings, HK_SEGMENT_OFF).
 *
 * The collector raises the segment's generation after it wrote; the next hooked call of whatever
 * thread and level comes here. A site that goes off keeps its thunk, which then only jumps on: that
 * is how it comes back.
 */
#ifndef HK_AGENT_CONTROL_H
#define HK_AGENT_CONTROL_H

#include <stdint.h>

/* Puts in force what was published since the last time; some nanoseconds when nothing was. Slow,
 * takes the process lock. */
void hk_control_apply(void);

/* The level of a site that would have LEVEL without the rules in force; *pinned becomes 1 where the
 * user gave it. Under the process lock. */
uint8_t hk_control_level(const char *provider, const char *function, uint8_t level,
			 uint8_t *pinned);

#endif
