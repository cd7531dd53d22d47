/* annotate.h: ranges, marks, steps, counters and device activities of programs that include
 * hooktrace.h.
 *
 * Each name in each calling object is a call site of its own, without a slot. A range is counted,
 * timed and recorded like a call. The others are counted, and recorded with their value.
 */
#ifndef HK_AGENT_ANNOTATE_H
#define HK_AGENT_ANNOTATE_H

#include <stdint.h>

#include "agent/object/object.h"

/* Sets the level of sites made from names to LEVEL (enum hk_level). Once, at start. */
void hk_annotate_start(uint8_t level);

/* Forgets names at addresses within SPAN, whose library is gone: another library may have other
 * names there. Any thread. */
void hk_annotate_forget(struct hk_span span);

#endif
