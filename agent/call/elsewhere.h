/* elsewhere.h: calls that return on another thread than they began on. General registers only. */
#ifndef HK_AGENT_CALL_ELSEWHERE_H
#define HK_AGENT_CALL_ELSEWHERE_H

#include <stdint.h>

#include "agent/frame/call.h"

/* Leaves CALL, which returns at END_TICKS on another thread than the one on which it began. That
 * one then finds it removed. */
void hk_call_leave_elsewhere(struct hk_call *call, uint64_t end_ticks);

#endif
