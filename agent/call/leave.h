/* leave.h: the way out of a hooked call. For the trampolines. */
#ifndef HK_AGENT_CALL_LEAVE_H
#define HK_AGENT_CALL_LEAVE_H

#include <stdint.h>

#include "agent/frame/call.h"

/* What a function leaves in its two result registers. */
struct hk_result {
	uint64_t result, result2;
};

/* Writes statistics and record of a call that ended at END_TICKS. Returns the call's results in the
 * registers in which its caller expects them. Runs on every hooked call: general registers only. */
struct hk_result hk_call_leave(struct hk_call *call, uint64_t end_ticks);

/* The same for a call of NS that counts in BUCKET, for which only values or a rule of errors
 * prevented the shortest way of hk_call_leave. */
struct hk_result hk_call_leave_described(struct hk_call *call, uint64_t ns, uint64_t *bucket);

#endif
