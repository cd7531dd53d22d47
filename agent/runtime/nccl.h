/* nccl.h: what only the NCCL library of the process can tell about a call: ranks, and which
 * communicator.
 *
 * The number of a communicator is the hash of the unique id it was made with, that of a part the
 * hash of its parent's number, the part's ordinal among the parent's and its colour; so all members
 * agree on it without talking.
 */
#ifndef HK_AGENT_RUNTIME_NCCL_H
#define HK_AGENT_RUNTIME_NCCL_H

#include <stdint.h>

#include "agent/frame/call.h"
#include "hooks/hook.h"

/* Makes scans look for the library's functions. Before the first scan. */
void hk_nccl_setup(void);

/* Value of an NCCL factor for CALL; 0 where NCCL cannot tell or, but for `comm`, the call failed.
 * Calls the host's library. */
uint64_t hk_nccl_factor(const struct hk_call *call, const struct hk_factor *factor);

#endif
