/* nccl.h: asks the NCCL library of the process about a call: ranks and communicators.
 *
 * The number of a communicator is the hash of its unique id. The number of a part is the hash of
 * its parent's number, its ordinal among the parent's parts, and its colour. So all members agree
 * on it without messages.
 */
#ifndef HK_AGENT_RUNTIME_NCCL_H
#define HK_AGENT_RUNTIME_NCCL_H

#include <stdint.h>

#include "agent/frame/call.h"
#include "hooks/hook.h"

/* Makes scans look for the library's functions. Before the first scan. */
void hk_nccl_setup(void);

/* Returns the value of an NCCL factor for CALL, or 0 if NCCL has no answer or the call failed,
 * except for `comm`. Calls the host's library. */
uint64_t hk_nccl_factor(const struct hk_call *call, const struct hk_factor *factor);

#endif
