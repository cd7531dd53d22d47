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

struct hk_device_work;

/* Records WORK of a device, and adds its time to the calls that submitted it. Any thread that is
 * not inside the agent. */
void hk_annotate_work(const struct hk_device_work *work);

/* Forgets names at addresses within SPAN, whose library is gone: another library may have other
 * names there. Any thread. */
void hk_annotate_forget(struct hk_span span);

#endif
