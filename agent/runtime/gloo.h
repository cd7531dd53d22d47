/* gloo.h: the numbers of gloo's contexts, each of which connects the ranks of one process group.
 *
 * Contexts have no name that all ranks know. The first one with all ranks of the job gets the
 * number of MPI_COMM_WORLD, and further ones numbers by their order, in which all ranks make them.
 * One with fewer ranks has the number 0: only its ranks count it. General registers only.
 */
#ifndef HK_AGENT_RUNTIME_GLOO_H
#define HK_AGENT_RUNTIME_GLOO_H

#include <stdint.h>

#include "agent/frame/call.h"
#include "hooks/hook.h"

/* Returns the value of a gloo factor for CALL, or 0 if it is unknown. */
uint64_t hk_gloo_factor(const struct hk_call *call, const struct hk_factor *factor);

#endif
