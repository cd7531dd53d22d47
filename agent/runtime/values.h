/* values.h: the named values of a call, read from its registers after it returned (hooks/hook.h,
 * struct hk_value). */
#ifndef HK_AGENT_RUNTIME_VALUES_H
#define HK_AGENT_RUNTIME_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/frame/call.h"
#include "agent/frame/hot.h"

/* Evaluates every value of the call's hook, in order. General registers only, no foreign code.
 * Returns false if a value needs an answer of the host's MPI, CUDA or NCCL library. */
bool hk_values_known(struct hk_call *call, uint64_t values[HK_HOOK_VALUES]);

/* Evaluates every value of the call's hook, in order, and asks the host's libraries if necessary.
 * It calls them as the host would: the hooked call has returned, so by the calling convention only
 * its result is in a vector register. */
void hk_values_read(struct hk_call *call, uint64_t values[HK_HOOK_VALUES]);

#endif
